"""Numbers from times: what many runs of one workload took. Pure."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

FENCE: Final = 1.5
"""Times that far from the middle half, in its widths, are outliers (Tukey)."""
DIGITS: Final = 4
"""Of a millisecond: a tenth of a microsecond is below what the clock tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What the runs of one workload took."""

    mean_ms: float
    std_ms: float
    """Of the runs that were made, not an estimate for others."""
    min_ms: float
    max_ms: float
    q1_ms: float
    q3_ms: float
    iqr_ms: float
    outliers: int
    iterations: int
    verified: bool | None = None
    """None when the script has no reference for the workload."""
    reference_ms: float | None = None
    """What computing the reference took, once."""

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the reference."""
        return self.reference_ms / self.mean_ms if self.reference_ms and self.mean_ms else None

    def verified_against(self, reference_ms: float) -> Timing:
        """Return this timing of a workload that gave what its reference gives."""
        return replace(self, verified=True, reference_ms=round(reference_ms, DIGITS))


def summarise(times_ms: Sequence[float]) -> Timing:
    """Return the summary of at least one time."""
    q1, q3 = _quartiles(times_ms)
    fence = FENCE * (q3 - q1)
    return Timing(
        mean_ms=round(statistics.fmean(times_ms), DIGITS),
        std_ms=round(statistics.pstdev(times_ms), DIGITS),
        min_ms=round(min(times_ms), DIGITS),
        max_ms=round(max(times_ms), DIGITS),
        q1_ms=round(q1, DIGITS),
        q3_ms=round(q3, DIGITS),
        iqr_ms=round(q3 - q1, DIGITS),
        outliers=sum(not q1 - fence <= time <= q3 + fence for time in times_ms),
        iterations=len(times_ms),
    )


def _quartiles(times_ms: Sequence[float]) -> tuple[float, float]:
    if len(times_ms) < 2:
        return times_ms[0], times_ms[0]
    q1, _, q3 = statistics.quantiles(times_ms, n=4, method="inclusive")
    return q1, q3
