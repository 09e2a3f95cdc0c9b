"""Whether the symbol versions that a binary wants are on every system of a manylinux policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.check import Finding
from kernelmill.builder.check.policies import policy_number
from kernelmill.builder.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.binary.symbols import Linkage
    from kernelmill.builder.check.policies import Policies

_STUBS_ARE_FOR: Final = (2, 28)
"""What is linked against the SDK abi-stubs-2.28 keeps to this policy and to newer ones."""


def check_manylinux(
    linkage: Linkage, *, policies: Policies, floor: str, cpu: str
) -> tuple[Finding, ...]:
    """Find the symbol versions that a system of ``floor`` may lack, and the symbols that want them.

    Weak references count too: the dynamic linker refuses a missing version before it looks at
    what is wanted of it.

    Args:
        linkage: of the binary.
        policies: all of them.
        floor: the name of one.
        cpu: ``x86_64`` or ``aarch64``; others have no list.
    """
    limit = policy_number(floor)
    return tuple(
        Finding(
            problem=f"{version} is {_age(oldest)}, and {floor} is wanted: {_who(names)}",
            hint=_hint(limit),
        )
        for version, names in _wanted(linkage).items()
        if (oldest := policies.oldest_with(version, cpu=cpu)) is None or oldest > limit
    )


def _hint(limit: tuple[int, ...]) -> str:
    if limit < _STUBS_ARE_FOR:
        return "build against stubs of older system libraries, or allow a newer system"
    return "build again after `kernel-builder sdk fetch abi-stubs-2.28`, or allow a newer system"


def lowest_policy(linkage: Linkage, *, policies: Policies, cpu: str) -> str:
    """Return the oldest policy that has all that the binary wants; empty when none has."""
    wanted = [policies.oldest_with(version, cpu=cpu) for version in _wanted(linkage)]
    numbers = [it for it in wanted if it is not None]
    if len(numbers) < len(wanted):
        return ""
    needed = max(numbers, default=())
    return next((name for name in policies.names if policy_number(name) >= needed), "")


def _age(oldest: tuple[int, ...] | None) -> str:
    if oldest is None:
        return "in no manylinux policy"
    return f"first in manylinux_{'_'.join(map(str, oldest))}"


def _who(names: list[str]) -> str:
    return some_of(names) or "no symbol, the file itself"


def _wanted(linkage: Linkage) -> Mapping[str, list[str]]:
    wanted: dict[str, list[str]] = {version: [] for version in linkage.needed_versions}
    for reference in linkage.undefined:
        if reference.version:
            wanted.setdefault(reference.version, []).append(reference.name)
    return dict(sorted(wanted.items()))
