"""Libraries of headers that ``depends`` of a kernel names: CUTLASS, from SDKs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import PlanError
from kernelmill.builder.sdk.pins import known_inputs
from kernelmill.builder.sdk.store import missing
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelmill.builder.sdk.store import Sdk

KIND: Final = "cutlass"
INCLUDE: Final = ("include", "tools/util/include")
_NAME: Final = re.compile(r"cutlass_(?P<major>\d+)_(?P<minor>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """One library's headers."""

    include: tuple[str, ...]
    inputs: Mapping[str, str]
    """Name -> sha256 of its SDK."""


def find_libraries(sdks: Sequence[Sdk]) -> dict[str, Library]:
    """Return name in ``depends`` -> library: the newest release of each series that is here."""
    return {
        "cutlass_" + "_".join(it.record.version.split(".")[:2]): Library(
            include=tuple(str(it.tree / folder) for folder in INCLUDE), inputs=it.inputs
        )
        for it in sdks
        if it.record.kind == KIND
    }


def pick_libraries(
    depends: Sequence[str], found: Mapping[str, Library], *, where: str = ""
) -> tuple[Library, ...]:
    """Return the libraries that a kernel depends on.

    Args:
        depends: as ``build.toml`` has it; what is no CUDA library is passed over.
        found: those that are here.
        where: the place of ``depends``.

    Raises:
        SdkMissing: one is not here; the hint says how to get it.
        PlanError: no SDK has it.
    """
    chosen = []
    for name in depends:
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        version = f"{match['major']}.{match['minor']}"
        if name not in found and version in known_inputs().get(KIND, {}):
            raise missing(KIND, version)
        if name not in found:
            raise PlanError(
                f"no SDK has the headers of CUTLASS {version}",
                where=where,
                hint="put them into the kernel, and name their folder in include",
            )
        chosen.append(found[name])
    return tuple(chosen)
