"""What a built kernel is, read from its binary: nothing is executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.binary import elf
from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.disassembly import count_matrix_instructions
from kernelmill.binary.occupancy import LIMITS, Occupancy, occupancy
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kernelmill.binary.code_object import CodeObject, Kernel
    from kernelmill.binary.symbols import Linkage

STATUS = "compiled, not executed"
"""What is known of every device kernel that is only read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """One device kernel."""

    arch: str
    kernel: Kernel
    occupancy: Occupancy | None
    """None for an architecture whose limits are not known."""
    matrix_instructions: Mapping[str, int]
    """Mnemonic -> how often it stands in the code; an instruction in a loop counts once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """One binary."""

    name: str
    size_bytes: int
    linkage: Linkage | None
    """None for a bare code object or bundle, which no host links."""
    kernels: tuple[KernelFacts, ...]


def find_binary(path: Path) -> Path:
    """Return the binary in the variant folder ``path``, or ``path`` itself when it is a file.

    Raises:
        SourceError: there is none, or the folder holds several.
    """
    if path.is_file():
        return path
    if not path.is_dir():
        raise SourceError("no such file or folder", where=str(path))
    found = sorted(path.glob("*.so"))
    if len(found) != 1:
        problem = (
            f"{len(found)} compiled extensions here" if found else "no compiled extension here"
        )
        raise SourceError(problem, where=str(path), hint="name one file, or one variant's folder")
    return found[0]


def inspect_binary(data: bytes, *, name: str) -> Inspection:
    """Read a host library, an offload bundle or a code object.

    Raises:
        BinaryError: it is none of them.
        DisassemblerError: there is device code and no disassembler.
    """
    objects = read_code_objects(data, where=name)
    is_host = elf.is_elf(data) and elf.parse(data, where=name).machine != elf.MACHINE_AMDGPU
    return Inspection(
        name=name,
        size_bytes=len(data),
        linkage=read_linkage(elf.parse(data, where=name)) if is_host else None,
        kernels=tuple(fact for it in objects for fact in _kernel_facts(it)),
    )


def _kernel_facts(code_object: CodeObject) -> tuple[KernelFacts, ...]:
    counts = count_matrix_instructions(code_object)
    limits = LIMITS.get(code_object.arch)
    return tuple(
        KernelFacts(
            arch=code_object.target,
            kernel=kernel,
            occupancy=occupancy(
                limits,
                vgpr_count=kernel.vgpr_count,
                lds_bytes=kernel.lds_bytes,
                workgroup_size=kernel.max_workgroup_size,
            )
            if limits
            else None,
            matrix_instructions=counts[kernel.name],
        )
        for kernel in code_object.kernels
    )
