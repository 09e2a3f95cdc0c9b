"""All checks of one variant folder against what its metadata says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.binary import elf
from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.backends import rules_for
from kernelmill.builder.check import Finding
from kernelmill.builder.check.archs import check_archs
from kernelmill.builder.check.imports import check_imports
from kernelmill.builder.check.linkage import check_linkage, check_tvm_ffi

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.spec.metadata import Metadata
    from kernelmill.spec.variant import ArchVariant


def check_variant(folder: Path, metadata: Metadata, variant: ArchVariant) -> tuple[Finding, ...]:
    """Return what is wrong with the extension and the Python files in ``folder``.

    Args:
        folder: holds the files.
        metadata: what they should be; digest and provenance are not looked at.
        variant: what they were built for.
    """
    return (*_check_extension(folder, metadata, variant), *check_python(folder, metadata))


def check_python(folder: Path, metadata: Metadata) -> tuple[Finding, ...]:
    """Return what is wrong with the Python files in ``folder``."""
    python = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.py")}
    return check_imports(python, package=metadata.python_name)


def _check_extension(folder: Path, metadata: Metadata, variant: ArchVariant) -> Iterator[Finding]:
    extensions = sorted(folder.glob("*.so"))
    if len(extensions) != 1:
        names = ", ".join(it.name for it in extensions) or "none"
        yield Finding(problem=f"want one compiled extension, found {names}")
        return
    path = extensions[0]
    data = path.read_bytes()
    linkage = read_linkage(elf.parse(data, where=path.name))
    soname = rules_for(variant.compute.backend).runtime_soname(variant.compute)
    archs = [it.target for it in read_code_objects(data, where=path.name)]
    is_tvm_ffi = variant.framework.kind == "tvm-ffi"
    module = "" if is_tvm_ffi else path.name.partition(".")[0]
    yield from check_linkage(linkage, module=module, runtime_soname=soname)
    if is_tvm_ffi:
        yield from check_tvm_ffi(linkage)
    yield from check_archs(archs, wanted=metadata.archs or ())
