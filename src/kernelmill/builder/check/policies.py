"""The manylinux policies: which symbol versions a system of each age has. Data, not code."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final, TypedDict, cast

from kernelmill.builder.errors import PlanError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_POLICY: Final = "manylinux_2_28"
"""What the official wheels of PyTorch run on."""


class _Document(TypedDict):
    policies: list[str]
    aliases: dict[str, str]
    libraries: list[str]
    first_policy: dict[str, dict[str, dict[str, str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """Every policy at once: each holds all that an older one holds."""

    names: tuple[str, ...]
    """From the oldest to the newest."""
    aliases: Mapping[str, str]
    """``manylinux2014`` -> ``manylinux_2_17``."""
    libraries: frozenset[str]
    """Sonames that every system has."""
    first_policy: Mapping[str, Mapping[str, Mapping[str, tuple[int, ...]]]]
    """CPU -> family -> version -> the oldest policy that has it, as its two numbers."""

    def find(self, name: str) -> str:
        """Return the policy that ``name`` means.

        Raises:
            PlanError: there is no such policy; lists those that are.
        """
        found = self.aliases.get(name, name)
        if found not in self.names:
            raise PlanError(
                f"no manylinux policy is called {name!r}",
                where="--manylinux",
                hint=f"one of {', '.join(self.names)}",
            )
        return found

    def oldest_with(self, version: str, *, cpu: str) -> tuple[int, ...] | None:
        """Return the oldest policy that has ``GLIBC_2.14``; None when none has it.

        An empty tuple for a version of a family that policies say nothing about.
        """
        for family, versions in self.first_policy.get(cpu, {}).items():
            if version.startswith(f"{family}_"):
                return versions.get(version.removeprefix(f"{family}_"))
        return ()


def policy_number(name: str) -> tuple[int, ...]:
    """Return ``(2, 28)`` for ``manylinux_2_28``."""
    return tuple(map(int, name.removeprefix("manylinux_").split("_")))


@cache
def read_policies() -> Policies:
    """Return the policies of the data file, which names its source."""
    document = cast("_Document", read_data("manylinux.json"))
    return Policies(
        names=tuple(document["policies"]),
        aliases=document["aliases"],
        libraries=frozenset(document["libraries"]),
        first_policy={
            cpu: {
                family: {it: tuple(map(int, old.split("."))) for it, old in versions.items()}
                for family, versions in families.items()
            }
            for cpu, families in document["first_policy"].items()
        },
    )


def read_data(name: str) -> object:
    """Return a data file of the checks, decoded."""
    place = resources.files("kernelmill.builder.check").joinpath("data", name)
    value: object = json.loads(place.read_text("utf-8"))
    return value


class _Additions(TypedDict):
    added: dict[str, list[str]]


def read_additions(name: str) -> dict[str, tuple[int, int]]:
    """Return symbol -> the version that brought it, from a data file of the checks."""
    document = cast("_Additions", read_data(name))
    return {
        symbol: (int(major), int(minor))
        for version, symbols in document["added"].items()
        for major, minor in [version.split(".")]
        for symbol in symbols
    }
