"""The header that every binding includes."""

from __future__ import annotations

from kernelmill.builder.render.template import read_template


def registration_header() -> str:
    """Return ``registration.h``; it depends on nothing, so all kernels have the same."""
    return read_template("project/torch-ext/registration.h")
