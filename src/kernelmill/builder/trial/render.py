"""Outcomes as tables and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelmill.builder.trial.outcome import Fault, Outcome

_FAULT_HEAD = ("kernel", "kind", "source line", "work-item", "address", "instruction", "launches")
_OUTCOME_HEAD = ("variant", "run on", "passed", "failed", "skipped", "launches", "seconds", "")


def render_outcomes(outcomes: Sequence[Outcome]) -> str:
    """Return what people read: what the sanitizer found, then a line for each variant."""
    faults = [fault for outcome in outcomes for fault in outcome.faults]
    parts = []
    if faults:
        parts.append("sanitizer (emulated):\n" + _table(_FAULT_HEAD, map(_fault_row, faults)))
        parts.append("\n".join(dict.fromkeys(f"{it.kind}: {it.detail}" for it in faults)))
    parts.append(_table(_OUTCOME_HEAD, map(_outcome_row, outcomes)))
    return "\n\n".join(parts)


def outcomes_json(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Return the same for programs."""
    return {
        "passed": not any(it.problem for it in outcomes),
        "trials": [
            {
                "variant": str(it.trial.variant),
                "runner": str(it.trial.runner),
                "sanitized": it.trial.sanitize,
                "tests": asdict(it.counts),
                "launches": it.launches and asdict(it.launches),
                "findings": [asdict(fault) for fault in it.faults],
                "seconds": round(it.seconds, 3),
                "problem": it.problem,
            }
            for it in outcomes
        ],
    }


def _fault_row(fault: Fault) -> tuple[str, ...]:
    return (
        fault.kernel,
        fault.kind,
        fault.source or "-",
        fault.work_item or "-",
        f"{fault.address:#x}",
        fault.instruction,
        str(fault.launches),
    )


def _outcome_row(outcome: Outcome) -> tuple[str, ...]:
    counts = outcome.counts
    return (
        str(outcome.trial.variant),
        str(outcome.trial.runner),
        str(counts.passed),
        str(counts.failed + counts.errors),
        str(counts.skipped),
        str(outcome.launches.count) if outcome.launches else "-",
        f"{outcome.seconds:.1f}",
        outcome.problem or "ok",
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return rows in columns two spaces apart."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
