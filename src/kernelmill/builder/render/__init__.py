"""Generated projects: every file of one, as text. Same plans, same bytes; touches no disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.fileset import FileSet
from kernelmill.builder.render.binding import registration_header
from kernelmill.builder.render.cmake import cmake_lists, cmake_modules, framework_of
from kernelmill.builder.render.metadata import draft_metadata
from kernelmill.builder.render.ops import ops_template
from kernelmill.builder.render.python import pyproject, setup_script
from kernelmill.spec.metadata import dumps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.builder.plan import BuildPlan
    from kernelmill.spec.metadata import SourceState


def render_project(
    plans: Sequence[BuildPlan], *, root: str = ".", source: SourceState | None = None
) -> FileSet:
    """Return the CMake project that builds ``plans``.

    Args:
        plans: one per backend of one kernel; at least one.
        root: the kernel's folder, seen from the project's.
        source: the commit to name in the metadata.
    """
    framework = framework_of(plans[0])
    header = {"torch-ext/registration.h": registration_header()} if framework == "torch" else {}
    texts = {
        "CMakeLists.txt": cmake_lists(plans, root=root),
        "cmake/_ops.py.in": ops_template(framework),
        **header,
        "setup.py": setup_script(plans[0]),
        "pyproject.toml": pyproject(plans[0]),
        **cmake_modules(plans),
        **{
            f"metadata-{plan.backend}.json": dumps(draft_metadata(plan, source=source))
            for plan in plans
        },
    }
    return FileSet(texts)
