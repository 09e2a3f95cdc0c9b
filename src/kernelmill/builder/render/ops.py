"""The Python module through which a kernel's wrapper reaches its operators."""

from __future__ import annotations

from kernelmill.builder.render.template import read_template


def ops_template(framework: str) -> str:
    """Return ``_ops.py`` with the build's name left open; CMake fills it in per backend.

    Args:
        framework: ``torch`` or ``tvm_ffi``.
    """
    name = "_ops_tvm_ffi.py.in" if framework == "tvm_ffi" else "_ops.py.in"
    return read_template(f"project/cmake/{name}")
