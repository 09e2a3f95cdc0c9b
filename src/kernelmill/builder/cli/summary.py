"""What became of several builds, as a table and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.builder.job import Outcome, Result

_WORDS: Final[dict[Result, str]] = {
    "built": "built",
    "failed": "failed",
    "unavailable": "cannot be built here",
}


def summary(outcomes: Sequence[Outcome], *, seconds: float | None = None) -> str:
    """Return one line for each build, and how many came to what.

    Args:
        outcomes: of every build.
        seconds: how long all took; None for one after another.
    """
    rows = [(it.variant, result_text(it), _against(it)) for it in outcomes]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [
        f"{name:<{widths[0]}}  {result:<{widths[1]}}  {against}".rstrip()
        for name, result, against in rows
    ]
    counts = Counter(it.result for it in outcomes)
    total = ", ".join(f"{counts[it]} {word}" for it, word in _WORDS.items() if counts[it])
    seconds = sum(it.seconds for it in outcomes) if seconds is None else seconds
    return "\n".join([*lines, f"{total}, in {seconds:.0f} s"])


def result_text(outcome: Outcome) -> str:
    """Say in a line what became of a build."""
    if outcome.result == "built":
        return f"built in {outcome.seconds:.1f} s"
    reason = outcome.error.problem.partition("\n")[0] if outcome.error else ""
    return f"{_WORDS[outcome.result]}: {reason}"


def _against(outcome: Outcome) -> str:
    """Say what a build was made with, and so what is known of it."""
    if outcome.result != "built":
        return ""
    if outcome.is_installed:
        return f"torch {outcome.torch}, installed" if outcome.torch else "TVM FFI, installed"
    return f"compiled against the headers of torch {outcome.torch}"


def status_of(outcomes: Sequence[Outcome]) -> int:
    """Return the exit status: that of the errors, and 1 when any of them is in the sources.

    >>> status_of([])
    0
    """
    statuses = [it.error.exit_code for it in outcomes if it.error is not None]
    statuses += [1 for it in outcomes if it.error is None and it.result != "built"]
    return min(statuses, default=0)


def outcome_json(outcome: Outcome) -> dict[str, object]:
    """Return the outcome as JSON values."""
    return {
        "variant": outcome.variant,
        "result": outcome.result,
        "folder": str(outcome.folder) if outcome.folder else None,
        "id": outcome.id or None,
        "archs": outcome.archs,
        "cross": outcome.is_cross,
        "torch": outcome.torch or None,
        "installed": outcome.is_installed,
        "manylinux": outcome.is_portable,
        "seconds": round(outcome.seconds, 3),
        "error": str(outcome.error) if outcome.error else None,
    }
