"""Which variants exist: the table of versions, and what this machine can build of a kernel."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError
from kernelmill.spec.version import parse_major_minor

if TYPE_CHECKING:
    from collections.abc import Mapping

Version = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The versions that builds are made for. ``matrix.toml`` is the one place that lists them."""

    default_rocm: Version
    rocm_sonames: Mapping[int, str]
    """ROCm's major version -> the soname of its HIP runtime."""

    def rocm_soname(self, version: Version) -> str:
        """Return the HIP runtime's soname in ROCm ``version``.

        Raises:
            PlanError: no such ROCm is known.
        """
        try:
            return self.rocm_sonames[version[0]]
        except KeyError:
            known = " and ".join(f"{major}.x" for major in sorted(self.rocm_sonames))
            raise PlanError(
                f"unknown ROCm {version[0]}.{version[1]}", hint=f"known: {known}"
            ) from None


@cache
def load_matrix() -> Matrix:
    """Return the matrix that this version of kernelmill knows."""
    text = (resources.files("kernelmill.builder") / "data/matrix.toml").read_text(encoding="utf-8")
    rocm = tomllib.loads(text)["rocm"]
    return Matrix(
        default_rocm=parse_major_minor(rocm["default"], where="matrix.toml rocm.default"),
        rocm_sonames={int(major): soname for major, soname in rocm["soname"].items()},
    )
