"""The versions that builds are made for. ``matrix.toml`` is the one place that lists them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from kernelmill.spec.version import parse_major_minor

Version = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The table, read."""

    default_rocm: Version
    """The ROCm whose ABI a build is linked for when none is asked for."""


@cache
def load_matrix() -> Matrix:
    """Return the matrix that this version of kernelmill knows."""
    text = (resources.files("kernelmill.builder") / "data/matrix.toml").read_text(encoding="utf-8")
    rocm = tomllib.loads(text)["rocm"]
    return Matrix(default_rocm=parse_major_minor(rocm["default"], where="matrix.toml rocm.default"))
