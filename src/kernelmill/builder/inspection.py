"""What a built kernel is, read from its binary: nothing is executed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.binary import elf
from kernelmill.binary.bundle import is_bundle
from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.cubin import MACHINE_CUDA, read_cubin
from kernelmill.binary.cuda_fatbin import is_fatbin, read_fat_entries
from kernelmill.binary.disassembly import disassemble_kernel, matrix_instructions
from kernelmill.binary.loops import find_hot_loop
from kernelmill.binary.occupancy import LIMITS, Occupancy, occupancy
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.errors import SourceError
from kernelmill.builder.package import METADATA_NAME
from kernelmill.builder.variants import PLACES, find_variants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.binary.code_object import CodeObject, Kernel
    from kernelmill.binary.cubin import CudaKernel
    from kernelmill.binary.cuda_fatbin import FatEntry
    from kernelmill.binary.loops import HotLoop
    from kernelmill.binary.occupancy import Limits
    from kernelmill.binary.symbols import Linkage

STATUS = "compiled, not executed"
"""What is known of every device kernel that is only read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """One device kernel."""

    kernel: Kernel
    occupancy: Occupancy | None
    """None for an architecture whose limits are not known."""
    matrix_instructions: Mapping[str, int]
    """Mnemonic -> how often it stands in the code; an instruction in a loop counts once."""
    hot_loop: HotLoop | None
    """None for a kernel without a loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeObjectFacts:
    """The device code of one architecture."""

    arch: str
    version: int
    """Code object version."""
    kernels: tuple[KernelFacts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaFacts:
    """The code for one NVIDIA architecture."""

    arch: str
    """``9.0a``, or ``12.0+PTX``."""
    kernels: tuple[CudaKernel, ...]
    not_read: str
    """Why there are no kernels here; empty when they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """One binary."""

    name: str
    size_bytes: int
    linkage: Linkage | None
    """None for a bare code object or bundle, which no host links."""
    code_objects: tuple[CodeObjectFacts, ...]
    """For AMD."""
    cuda: tuple[CudaFacts, ...]
    """For NVIDIA."""


def floor_symbols(linkage: Linkage) -> dict[str, tuple[str, ...]]:
    """Return version -> the symbols that need it, for the highest version of each family.

    These are what keeps a binary from loading on an older system: ``GLIBC_2.32`` is needed because
    of ``__libc_single_threaded``.
    """
    highest = [f"{it}_{'.'.join(map(str, v))}" for it, v in linkage.version_floors.items()]
    return {
        version: tuple(ref.name for ref in linkage.undefined if ref.version == version)
        for version in highest
    }


def find_binary(path: Path) -> Path:
    """Return the binary in the variant folder ``path``, or ``path`` itself when it is a file.

    A variant's name by itself means the one in ``build`` or ``result``, here.

    Raises:
        SourceError: there is none, or the folder holds several.
    """
    if path.is_file():
        return path
    places = (path, *(Path(place) / path for place in PLACES))
    path = next((it for it in places if it.is_dir()), path)
    if not path.is_dir():
        raise SourceError(
            "no such file or folder", where=str(path), hint="name a build: build/<variant>"
        )
    found = sorted(path.glob("*.so")) or _of_only_variant(path)
    if len(found) != 1:
        problem = (
            f"{len(found)} compiled extensions here" if found else "no compiled extension here"
        )
        raise SourceError(problem, where=str(path), hint="name one file, or one variant's folder")
    return found[0]


def _of_only_variant(folder: Path) -> list[Path]:
    """Return the extensions of the one variant that the kernel in ``folder`` was built for.

    Raises:
        SourceError: it was built for several, or ``folder`` is a variant that is all Python.
    """
    if (folder / METADATA_NAME).is_file():
        raise SourceError(
            "this variant is Python only: there is no binary to inspect", where=str(folder)
        )
    try:
        variants = find_variants(folder)
    except SourceError:
        return []
    if len(variants) > 1:
        names = ", ".join(str(it) for it in variants)
        raise SourceError(
            f"{len(variants)} variants here", where=str(folder), hint=f"name one of {names}"
        )
    return [file for it in variants for file in (sorted(it.glob("*.so")) or _of_only_variant(it))]


def inspect_binary(data: bytes, *, name: str) -> Inspection:
    """Read a host library, an offload bundle or a code object.

    Raises:
        BinaryError: it is none of them.
        DisassemblerError: there is device code and no disassembler.
    """
    machine = elf.parse(data, where=name).machine if elf.is_elf(data) else None
    is_host = machine not in {None, elf.MACHINE_AMDGPU, MACHINE_CUDA}
    objects = () if is_fatbin(data) else read_code_objects(data, where=name)
    return Inspection(
        name=name,
        size_bytes=len(data),
        linkage=read_linkage(elf.parse(data, where=name)) if is_host else None,
        code_objects=tuple(_code_object_facts(it) for it in objects),
        cuda=() if is_bundle(data) else _cuda(data, name),
    )


def _cuda(data: bytes, name: str) -> tuple[CudaFacts, ...]:
    """Return the code for NVIDIA; not what its linker leaves behind, which has no kernels."""
    found = (_cuda_facts(it) for it in read_fat_entries(data, where=name))
    return tuple(it for it in found if it.kernels or it.not_read)


def _cuda_facts(entry: FatEntry) -> CudaFacts:
    if entry.kind != "sass":
        not_read = f"{entry.kind}: the driver compiles it when it is loaded"
    elif entry.compression:
        not_read = f"compressed with {entry.compression}"
    else:
        kernels = read_cubin(entry.data, where=entry.arch)
        return CudaFacts(arch=entry.arch, kernels=kernels, not_read="")
    return CudaFacts(arch=entry.arch, kernels=(), not_read=not_read)


def _code_object_facts(code_object: CodeObject) -> CodeObjectFacts:
    limits = LIMITS.get(code_object.arch)
    return CodeObjectFacts(
        arch=code_object.target,
        version=code_object.version,
        kernels=tuple(_kernel_facts(code_object, it, limits) for it in code_object.kernels),
    )


def _kernel_facts(code_object: CodeObject, kernel: Kernel, limits: Limits | None) -> KernelFacts:
    instructions = list(disassemble_kernel(code_object, kernel))
    return KernelFacts(
        kernel=kernel,
        occupancy=_occupancy(kernel, limits) if limits else None,
        matrix_instructions=matrix_instructions(instructions),
        hot_loop=find_hot_loop(instructions),
    )


def _occupancy(kernel: Kernel, limits: Limits) -> Occupancy:
    return occupancy(
        limits,
        vgpr_count=kernel.vgpr_count,
        lds_bytes=kernel.lds_bytes,
        workgroup_size=kernel.max_workgroup_size,
        sgpr_count=kernel.sgpr_count,
    )
