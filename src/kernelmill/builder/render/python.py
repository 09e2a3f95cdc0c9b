"""The Python packaging of a generated project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.render.template import render_template

if TYPE_CHECKING:
    from kernelmill.builder.plan import BuildPlan


def setup_script(plan: BuildPlan) -> str:
    """Return ``setup.py``: ``build_kernel`` makes the variant, ``build_ext`` the extension."""
    return render_template("project/setup.py.j2", {"plan": plan})


def pyproject(plan: BuildPlan) -> str:
    """Return ``pyproject.toml``."""
    return render_template("project/pyproject.toml.j2", {"plan": plan})
