"""All checks of one variant folder against the plan that it was built from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check.archs import check_archs
from kernelmill.builder.check.imports import check_imports
from kernelmill.builder.check.linkage import check_linkage
from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary import elf
from kernelmill.binary.symbols import read_linkage

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.check import Finding
    from kernelmill.builder.plan import BuildPlan


def check_variant(folder: Path, plan: BuildPlan) -> tuple[Finding, ...]:
    """Return what is wrong with the extension and the Python files in ``folder``."""
    extension = folder / f"{plan.ops_name}.abi3.so"
    data = extension.read_bytes()
    linkage = read_linkage(elf.parse(data, where=extension.name))
    archs = [it.arch for it in read_code_objects(data, where=extension.name)]
    python = {p.relative_to(folder).as_posix(): p.read_text("utf-8") for p in folder.rglob("*.py")}
    return (
        *check_linkage(linkage, module=plan.ops_name, runtime_soname=plan.runtime_soname),
        *check_archs(archs, wanted=plan.archs or ()),
        *check_imports(python, package=plan.python_name),
    )
