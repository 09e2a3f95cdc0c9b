"""The Python module through which a kernel's wrapper reaches its operators."""

from __future__ import annotations

from kernelmill.builder.render.template import read_template


def ops_template() -> str:
    """Return ``_ops.py`` with the operators' namespace left open; CMake fills it in per backend."""
    return read_template("project/cmake/_ops.py.in")
