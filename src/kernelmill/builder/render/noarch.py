"""The generated project of a Python-only kernel: no CMake, only files to copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.fileset import FileSet
from kernelmill.builder.render.metadata import draft_metadata
from kernelmill.builder.render.python import dependencies_of, optional_dependencies_of
from kernelmill.builder.render.template import render_template
from kernelmill.builder.sources import package_folder, shipped_suffixes
from kernelmill.spec.metadata import dumps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.builder.noarch.plan import NoarchPlan
    from kernelmill.spec.metadata import SourceState


def ops_module(name: str) -> str:
    """Return ``_ops.py`` of one build, whose operators are called ``name``."""
    return render_template("noarch/_ops.py.j2", {"name": name, "names": {}})


def render_noarch_project(
    plans: Sequence[NoarchPlan], *, root: str = ".", source: SourceState | None = None
) -> FileSet:
    """Return the project that makes ``plans``.

    Args:
        plans: one per variant of one kernel; at least one.
        root: the kernel's folder, seen from the project's.
        source: the commit to name in the metadata.
    """
    manifest = plans[0].manifest
    package = package_folder(manifest)
    values: dict[str, object] = {
        "manifest": manifest,
        "package": package,
        "plans": plans,
        "root": root,
        "suffixes": shipped_suffixes(manifest),
        "dependencies": dependencies_of(manifest),
        "extras": optional_dependencies_of(manifest),
        "globs": [f"**/*.{suffix}" for suffix in manifest.framework.pyext],
        "names": {plan.variant.name: plan.ops_name for plan in plans},
        "name": plans[0].ops_name,
    }
    return FileSet(
        {
            f"{package}/_ops.py": render_template("noarch/_ops.py.j2", values),
            "setup.py": render_template("noarch/setup.py.j2", values),
            "pyproject.toml": render_template("noarch/pyproject.toml.j2", values),
            **{
                f"metadata-{plan.variant.name}.json": dumps(draft_metadata(plan, source=source))
                for plan in plans
            },
        }
    )
