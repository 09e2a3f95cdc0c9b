"""All checks of one variant folder against what its metadata says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.binary import elf
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.backends import BACKENDS
from kernelmill.builder.check import Finding
from kernelmill.builder.check.abi import MACHINES, check_framework_abi, check_portability
from kernelmill.builder.check.archs import check_archs, read_archs
from kernelmill.builder.check.imports import check_imports
from kernelmill.builder.check.linkage import check_linkage
from kernelmill.builder.check.search_path import check_opened_libraries
from kernelmill.builder.check.torch_abi import check_registration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.binary.elf import Elf
    from kernelmill.spec.metadata import Metadata
    from kernelmill.spec.variant import ArchVariant


def check_variant(folder: Path, metadata: Metadata, variant: ArchVariant) -> tuple[Finding, ...]:
    """Return what is wrong with the extension and the Python files in ``folder``.

    Args:
        folder: holds the files.
        metadata: what they should be; digest and provenance are not looked at.
        variant: what they were built for.
    """
    return (
        *_check_extension(folder, metadata, variant),
        *check_imports(python_files(folder), package=metadata.python_name),
    )


def python_files(folder: Path) -> dict[str, bytes]:
    """Return path -> content of every Python file below ``folder``."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*.py"))}


def check_floor(folder: Path, *, floor: str) -> tuple[Finding, ...]:
    """Return what keeps the extension in ``folder`` from other systems than the one that built it.

    Args:
        folder: holds the files.
        floor: the manylinux policy of the oldest system.
    """
    return tuple(
        finding
        for file in _extensions(folder)
        for finding in check_portability(
            read_linkage(file), cpu=MACHINES.get(file.machine, ""), floor=floor
        )
    )


def check_doubts(folder: Path, variant: ArchVariant) -> tuple[Finding, ...]:
    """Return what is legal in an extension, and seldom meant: that it registers no operators."""
    if variant.framework.kind == "tvm-ffi":
        return ()
    return tuple(
        finding
        for file in _extensions(folder)
        for finding in check_registration([it.name for it in read_linkage(file).undefined])
    )


def _extensions(folder: Path) -> Iterator[Elf]:
    for path in sorted(folder.glob("*.so")):
        data = path.read_bytes()
        if elf.is_elf(data):
            yield elf.parse(data, where=path.name)


def _check_extension(folder: Path, metadata: Metadata, variant: ArchVariant) -> Iterator[Finding]:
    if variant.os != "linux":
        return  # `check-abi` reads what it can of other systems' binaries
    extensions = sorted(folder.glob("*.so"))
    if len(extensions) != 1:
        names = ", ".join(it.name for it in extensions) or "none"
        yield Finding(problem=f"want one compiled extension, found {names}")
        return
    path = extensions[0]
    data = path.read_bytes()
    linkage = read_linkage(elf.parse(data, where=path.name))
    rules = BACKENDS.get(variant.compute.backend)
    is_module = variant.framework.kind != "tvm-ffi"
    wanted = [it.name for it in linkage.undefined]
    yield from check_linkage(
        linkage,
        module=path.name.partition(".")[0] if is_module else "",
        runtime_soname=rules.runtime_soname(variant.compute) if rules else "",
    )
    yield from check_framework_abi(wanted, variant)
    yield from check_opened_libraries(linkage, data)
    yield from check_archs(read_archs(data, where=path.name), wanted=metadata.archs or ())
