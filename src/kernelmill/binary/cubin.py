"""Read cubins: the kernels of one NVIDIA architecture and what they cost.

A cubin is an ELF file. Sections say which kernels there are and how much shared and constant memory
each has; records in ``.nv.info`` say registers and stack. NVIDIA documents none of this: attribute
numbers and meanings were compared with ``cuobjdump -res-usage`` of CUDA 13.0.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from kernelmill.binary import elf
from kernelmill.binary._window import Window
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelmill.binary.elf import Elf

MACHINE_CUDA: Final = 190
INFO: Final = ".nv.info"
PARAMETERS: Final = ".nv.constant0."
"""The constant bank with a kernel's parameters: device functions have none."""
RECORD: Final = Struct("<BBH")
FORMAT_SIZED: Final = 4
"""The record's last number is the size of what follows it; in other formats it is the value."""
PAIR: Final = Struct("<II")
TRIPLE: Final = Struct("<III")
ATTRIBUTE_MAX_THREADS: Final = 0x05
ATTRIBUTE_FRAME_SIZE: Final = 0x11
ATTRIBUTE_REGISTERS: Final = 0x2F


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaKernel:
    """One kernel. A number that the cubin does not say is None."""

    name: str
    registers: int | None
    """32-bit registers of one thread."""
    stack_bytes: int | None
    """Local memory of one thread: spills and arrays that no register holds."""
    shared_bytes: int
    """Static shared memory of one block; a launch may add more."""
    constant_bytes: int
    """Constant bank 0: parameters and what the driver puts before them."""
    max_threads: int | None
    """Of one block, from ``__launch_bounds__``."""
    code_bytes: int


def read_cubin(data: bytes, *, where: str = "") -> tuple[CudaKernel, ...]:
    """Return the kernels of one cubin, sorted by name.

    Raises:
        BinaryError: not a cubin, or damaged.
    """
    file = elf.parse(data, where=where)
    if file.machine != MACHINE_CUDA:
        raise file.window.fault(f"not CUDA machine code: ELF machine {file.machine}")
    numbers = dict(_by_symbol(file))
    names = (it.name.removeprefix(PARAMETERS) for it in file.sections if _is_parameters(it.name))
    return tuple(_kernel(file, name, numbers) for name in sorted(names))


def _is_parameters(section: str) -> bool:
    return section.startswith(PARAMETERS) and section != PARAMETERS


def _kernel(file: Elf, name: str, numbers: Mapping[tuple[int, str], int]) -> CudaKernel:
    return CudaKernel(
        name=name,
        registers=numbers.get((ATTRIBUTE_REGISTERS, name)),
        stack_bytes=numbers.get((ATTRIBUTE_FRAME_SIZE, name)),
        shared_bytes=_size(file, f".nv.shared.{name}"),
        constant_bytes=_size(file, f"{PARAMETERS}{name}"),
        max_threads=_max_threads(file, name),
        code_bytes=_size(file, f".text.{name}"),
    )


def _size(file: Elf, section: str) -> int:
    found = file.section(section)
    return found.size if found else 0


def _max_threads(file: Elf, name: str) -> int | None:
    for attribute, value in _records(file, f"{INFO}.{name}"):
        if attribute == ATTRIBUTE_MAX_THREADS and len(value) == TRIPLE.size:
            x, y, z = TRIPLE.unpack(value)
            return int(x * y * z)
    return None


def _by_symbol(file: Elf) -> Iterator[tuple[tuple[int, str], int]]:
    """Yield (attribute, kernel) -> number, for the attributes that are kept for all at once."""
    symbols = file.symbols()
    for attribute, value in _records(file, INFO):
        if attribute in {ATTRIBUTE_REGISTERS, ATTRIBUTE_FRAME_SIZE} and len(value) == PAIR.size:
            index, number = PAIR.unpack(value)
            if index < len(symbols):
                yield (attribute, symbols[index].name), number


def _records(file: Elf, section: str) -> Iterator[tuple[int, bytes]]:
    found = file.section(section)
    window = Window(data=file.content(found) if found else b"", where=f"{file.where} {section}")
    position = 0
    while position < len(window.data):
        form, attribute, number = window.unpack(RECORD, position, "a record")
        position += RECORD.size
        size = number if form == FORMAT_SIZED else 0
        yield attribute, window.take(position, size, "a record's value")
        position += size
