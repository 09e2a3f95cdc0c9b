"""Write a lock: what is locked stays as it is, what is new is taken from the SDKs that are here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.builder.locking.format import Lock
from kernelmill.builder.locking.needs import needs_of
from kernelmill.builder.sdk.pins import known_inputs
from kernelmill.builder.sdk.store import version_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kernelmill.builder.locking.needs import Need
    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.spec.variant import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Locking:
    """A new lock, and what it could not have."""

    lock: Lock
    missing: Mapping[str, tuple[Need, ...]]
    """Variant -> the SDKs that are neither here nor locked."""


def make_lock(
    variants: Iterable[Variant],
    records: Sequence[SdkRecord],
    old: Lock,
    *,
    updated: Iterable[str] = (),
    needs_for: Callable[[Variant], Sequence[Need]] = needs_of,
) -> Locking:
    """Lock ``variants``.

    Args:
        variants: all that the kernel is built as.
        records: the SDKs that are here.
        old: the lock as it is; an SDK in it is taken before one that is here.
        needs_for: says what a variant needs.
        updated: names, or kinds, of SDKs that are taken from those here all the same.
    """
    stale = frozenset(updated)
    kept = [it for it in old.sdks.values() if stale.isdisjoint({it.name, it.kind})]
    locked: dict[str, tuple[str, ...]] = {}
    sdks: dict[str, SdkRecord] = {}
    missing: dict[str, tuple[Need, ...]] = {}
    for variant in variants:
        needs = needs_for(variant)
        found = [choose(need, kept) or choose(need, records) for need in needs]
        lacking = tuple(need for need, it in zip(needs, found, strict=True) if it is None)
        if lacking:
            missing[str(variant)] = lacking
            continue
        chosen = {it.name: it for it in found if it}
        locked[str(variant)] = tuple(sorted(chosen))
        sdks |= chosen
    return Locking(lock=Lock(sdks=sdks, variants=locked), missing=missing)


def choose(need: Need, records: Sequence[SdkRecord]) -> SdkRecord | None:
    """Return the SDK that meets ``need``: one made of the known files before any other."""
    fitting = [it for it in records if need.is_met_by(it)]
    return max(
        fitting, key=lambda it: (is_known(it, need.version), version_key(it.version)), default=None
    )


def is_known(record: SdkRecord, version: str) -> bool:
    """Tell whether ``record`` was made of the files that are known under ``version``."""
    known = {it.sha256 for it in known_inputs().get(record.kind, {}).get(version, ())}
    return bool(known) and known <= {it.sha256 for it in record.inputs}
