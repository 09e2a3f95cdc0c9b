"""Make a variant of a Python-only kernel: copy, check, describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check import require_no_findings
from kernelmill.builder.check.imports import check_imports
from kernelmill.builder.package import (
    OUTPUT_FOLDER,
    finish_metadata,
    replace_folder,
    write_metadata,
)
from kernelmill.builder.render.noarch import ops_module
from kernelmill.builder.sources import MANIFEST_NAME, OPS_MODULE
from kernelmill.builder.toolchain.git import probe_source_state
from kernelmill.builder.workplace import (
    WORK_FOLDER,
    clear,
    ensure_usable,
    make_folder,
    only_build,
)

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.noarch.plan import NoarchPlan
    from kernelmill.builder.package import Origin
    from kernelmill.builder.sources import KernelTree


def build_noarch(plan: NoarchPlan, tree: KernelTree, *, origin: Origin | None = None) -> Path:
    """Build one variant into ``build/<variant>/``, which is replaced only by a whole one.

    Args:
        plan: what to build.
        tree: the sources.
        origin: where the sources come from; None to ask git.

    Raises:
        CheckError: a Python file cannot be compiled, or imports the kernel by its own name.
        HostError: the folder cannot be written, or the variant is being built already.
    """
    ensure_usable(tree.root)
    work = tree.root / WORK_FOLDER / str(plan.variant)
    make_folder(work)
    with only_build(work):
        stage = work / "stage"
        clear(stage)
        _copy_files(plan, tree, stage)
        python = {it.relative_to(stage).as_posix(): it.read_bytes() for it in stage.rglob("*.py")}
        findings = check_imports(python, package=tree.manifest.general.name.python_name)
        require_no_findings(findings, where=str(plan.variant))
        metadata = finish_metadata(
            plan,
            stage,
            source=origin.source
            if origin
            else probe_source_state(tree.root, (MANIFEST_NAME, *plan.files)),
            origin=origin,
            compilers={},
            inputs={"build.toml": tree.manifest_sha256},
        )
        write_metadata(stage, metadata)
        target = tree.root / OUTPUT_FOLDER / str(plan.variant)
        replace_folder(stage, target, trash=work / "old")
    return target


def _copy_files(plan: NoarchPlan, tree: KernelTree, stage: Path) -> None:
    for path in plan.files:
        place = stage / path.removeprefix(f"{tree.package}/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((tree.root / path).read_bytes())
    (stage / OPS_MODULE).write_text(ops_module(plan.ops_name), encoding="utf-8", newline="\n")
