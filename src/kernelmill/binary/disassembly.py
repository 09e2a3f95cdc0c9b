"""Disassemble AMD machine code with LLVM's own library, through ctypes. Nothing is executed.

The library comes in the wheel ``rocm-llvm-python`` (AMD's). API:
https://llvm.org/doxygen/group__LLVMCDisassembler.html. This is the only module that loads a
library with ctypes.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.binary.code_object import TRIPLE
from kernelmill.binary.errors import BinaryError, DisassemblerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelmill.binary.code_object import CodeObject, Kernel

DISTRIBUTION: Final = "rocm-llvm-python"
LIBRARY_NAME: Final = "librocmllvm.so"
INITIALISERS: Final = ("TargetInfo", "Target", "TargetMC", "Disassembler")
LONGEST_TEXT: Final = 1024
"""Bytes for one instruction's text; the longest known has under 200."""
MATRIX_PREFIXES: Final = ("v_mfma_", "v_smfmac_", "v_wmma_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction as LLVM prints it."""

    address: int
    size_bytes: int
    mnemonic: str
    operands: str

    def __str__(self) -> str:
        return f"{self.mnemonic} {self.operands}".rstrip()


def disassemble(code: bytes, *, target: str, address: int = 0) -> Iterator[Instruction]:
    """Yield the instructions of ``code``, which is loaded at ``address``.

    Args:
        code: machine code, from its first instruction on.
        target: ``gfx942``, or with features ``gfx90a:sramecc+:xnack-``.
        address: of the first byte; branches are printed relative, as LLVM does.

    Raises:
        BinaryError: bytes that are no instruction of ``target``, or an unknown target.
        DisassemblerError: LLVM's library is not installed.
    """
    library = _load()
    arch, *features = target.split(":")
    switches = ",".join(f"{feature[-1:]}{feature[:-1]}" for feature in features)
    context = library.LLVMCreateDisasmCPUFeatures(
        TRIPLE.encode(), arch.encode(), switches.encode(), None, 0, None, None
    )
    if not context:
        raise BinaryError(
            f"LLVM has no disassembler for {target!r}",
            hint="use a newer LLVM: pip install --upgrade rocm-llvm-python",
        )
    try:
        yield from _instructions(library, context, code, address)
    finally:
        library.LLVMDisasmDispose(context)


def _instructions(
    library: ctypes.CDLL, context: int, code: bytes, address: int
) -> Iterator[Instruction]:
    text = ctypes.create_string_buffer(LONGEST_TEXT)
    # NOTE: LLVM takes a mutable pointer; the copy keeps Python's own bytes untouched.
    held = (ctypes.c_ubyte * len(code)).from_buffer_copy(code)
    start, position = ctypes.addressof(held), 0
    while position < len(code):
        size = library.LLVMDisasmInstruction(
            context, start + position, len(code) - position, address + position, text, LONGEST_TEXT
        )
        if not size:
            raise BinaryError(
                f"no instruction at {address + position:#x}: {code[position : position + 8].hex()}"
            )
        mnemonic, _, operands = text.value.decode().strip().partition(" ")
        yield Instruction(
            address=address + position,
            size_bytes=size,
            mnemonic=mnemonic,
            operands=operands.strip(),
        )
        position += size


def disassemble_kernel(code_object: CodeObject, kernel: Kernel) -> Iterator[Instruction]:
    """Yield the instructions of one of ``code_object``'s kernels."""
    code = code_object.code(kernel)
    return disassemble(code, target=code_object.target, address=kernel.code_address)


def count_matrix_instructions(code_object: CodeObject) -> dict[str, Mapping[str, int]]:
    """Return kernel name -> mnemonic -> how often a matrix instruction stands in its code.

    The count is static: an instruction in a loop counts once.
    """
    return {
        kernel.name: matrix_instructions(disassemble_kernel(code_object, kernel))
        for kernel in code_object.kernels
    }


def matrix_instructions(instructions: Iterable[Instruction]) -> Mapping[str, int]:
    """Return mnemonic -> how often a matrix instruction stands in the code, sorted."""
    names = (it.mnemonic for it in instructions if it.mnemonic.startswith(MATRIX_PREFIXES))
    return dict(sorted(Counter(names).items()))


@cache
def _load() -> ctypes.CDLL:
    path = find_library()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise DisassemblerError(f"LLVM cannot be loaded: {error}", where=str(path)) from error
    for part in INITIALISERS:
        getattr(library, f"LLVMInitializeAMDGPU{part}")()
    void, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    library.LLVMCreateDisasmCPUFeatures.argtypes = (
        text, text, text, void, ctypes.c_int, void, void,
    )  # fmt: skip
    library.LLVMCreateDisasmCPUFeatures.restype = void
    library.LLVMDisasmDispose.argtypes = (void,)
    library.LLVMDisasmDispose.restype = None
    library.LLVMDisasmInstruction.argtypes = (
        void,
        void,
        ctypes.c_uint64,
        ctypes.c_uint64,
        text,
        size,
    )
    library.LLVMDisasmInstruction.restype = size
    return library


def find_library(distribution: str = DISTRIBUTION) -> Path:
    """Return where the installed wheel keeps LLVM.

    Raises:
        DisassemblerError: the wheel is not installed, or has no such library.
    """
    try:
        files = metadata.files(distribution) or ()
    except metadata.PackageNotFoundError as error:
        raise DisassemblerError(
            f"the wheel {distribution!r}, which holds LLVM's disassembler, is not installed"
        ) from error
    for file in files:
        if file.name == LIBRARY_NAME:
            return Path(str(file.locate()))
    raise DisassemblerError(f"the wheel {distribution!r} has no {LIBRARY_NAME}")
