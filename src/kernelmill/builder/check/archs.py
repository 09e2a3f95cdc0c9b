"""Whether a binary holds device code for exactly the architectures that its metadata will claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.cubin import read_cubin
from kernelmill.binary.cuda_fatbin import read_fat_entries
from kernelmill.builder.check import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kernelmill.binary.cuda_fatbin import FatEntry

_PTX: Final = "+PTX"


def check_archs(found: Sequence[str], *, wanted: Sequence[str]) -> tuple[Finding, ...]:
    """Compare the architectures of the device code in a binary with the planned ones (D3).

    ``12.0+PTX`` asks for machine code of 12.0 and for PTX of 12.0.
    """
    asked = set(_parts(wanted))
    missing = sorted(asked - set(found))
    extra = sorted(set(found) - asked)
    texts = [f"no device code for {arch} in the binary" for arch in missing]
    texts += [f"device code for {arch} in the binary, which nobody asked for" for arch in extra]
    return tuple(Finding(problem=text) for text in texts)


def _parts(archs: Iterable[str]) -> Iterator[str]:
    for arch in archs:
        yield arch
        if arch.endswith(_PTX):
            yield arch.removesuffix(_PTX)


def read_archs(data: bytes, *, where: str) -> tuple[str, ...]:
    """Return the architecture of every piece of device code in a library, AMD's and NVIDIA's.

    Machine code without a kernel does not count: the linker's own, which NVIDIA's leaves behind.

    Raises:
        BinaryError: the library is damaged.
    """
    amd = (it.target for it in read_code_objects(data, where=where))
    nvidia = (it.arch for it in read_fat_entries(data, where=where) if _has_kernels(it))
    return (*amd, *nvidia)


def _has_kernels(entry: FatEntry) -> bool:
    is_readable = entry.kind == "sass" and not entry.compression
    return not is_readable or bool(read_cubin(entry.data, where=entry.arch))
