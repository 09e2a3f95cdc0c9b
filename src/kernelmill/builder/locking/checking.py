"""Whether a lock is what ``kernel-builder lock`` would write today. Needs no SDK to be here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.locking.needs import needs_of
from kernelmill.builder.sdk.pins import known_inputs
from kernelmill.spec.variant import parse_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kernelmill.builder.locking.format import Lock
    from kernelmill.builder.locking.needs import Need
    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.spec.variant import Variant


def check_lock(
    lock: Lock,
    variants: Iterable[Variant],
    records: Sequence[SdkRecord],
    *,
    needs_for: Callable[[Variant], Sequence[Need]] = needs_of,
) -> tuple[str, ...]:
    """Return what is wrong with ``lock``, one line each.

    Args:
        lock: the kernel's.
        variants: all that the kernel is built as. One that is not locked is no mistake.
        records: the SDKs that are here.
        needs_for: says what a variant needs.
    """
    return (
        *_check_variants(lock, {str(it) for it in variants}, needs_for),
        *_check_files(lock),
        *_check_store(lock, records),
    )


def _check_variants(
    lock: Lock, known: set[str], needs_for: Callable[[Variant], Sequence[Need]]
) -> Iterator[str]:
    for name, sdks in lock.variants.items():
        if name not in known:
            yield f"{name} is locked, and is no variant of this kernel any more"
            continue
        needs = needs_for(parse_variant(name))
        for need in needs:
            if not any(need.is_met_by(lock.sdks[it]) for it in sdks):
                yield f"{name} needs {need.name}, and is locked to {', '.join(sdks)}"
        if len(sdks) > len(needs):
            yield f"{name} is locked to more than it needs: {', '.join(sdks)}"
    used = {name for sdks in lock.variants.values() for name in sdks}
    for name in lock.sdks:
        if name not in used:
            yield f"{name} is locked, and no variant uses it"


def _check_files(lock: Lock) -> Iterator[str]:
    """Compare with the files that this version knows under the same name."""
    for sdk in lock.sdks.values():
        known = {
            it.file: it.sha256
            for inputs in known_inputs().get(sdk.kind, {}).values()
            for it in inputs
        }
        for it in sdk.inputs:
            if known.get(it.file, it.sha256) != it.sha256:
                yield f"{sdk.name}: {it.file} is {it.sha256[:12]}, known as {known[it.file][:12]}"


def _check_store(lock: Lock, records: Sequence[SdkRecord]) -> Iterator[str]:
    for record in records:
        locked = lock.sdks.get(record.name)
        if locked and locked.nar_sha256 != record.nar_sha256:
            yield (
                f"{record.name} is locked with NAR sha256 {locked.nar_sha256[:12]}, the one here "
                f"has {record.nar_sha256[:12]}"
            )
