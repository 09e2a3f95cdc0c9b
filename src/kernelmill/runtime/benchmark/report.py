"""A benchmark's results as JSON, in the original's format, and as rows of a table. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.runtime.benchmark.device import Machine
    from kernelmill.runtime.benchmark.timing import Timing

COLUMNS: Final = (
    *("Benchmark", "Workload", "N", "Speedup", "Mean(ms)", "Std(ms)", "Min(ms)", "Max(ms)"),
    *("IQR(ms)", "Outliers", "Ref(ms)", "Match"),
)
_FIELDS: Final = (
    *("mean_ms", "std_ms", "min_ms", "max_ms", "q1_ms", "q3_ms", "iqr_ms"),
    *("outliers", "iterations"),
)
_MARKS: Final = {True: "✓", False: "✗", None: "·"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was timed, of which code, where."""

    timings: Mapping[str, Timing]
    """``<class>.<workload>`` -> its timing."""
    machine: Machine
    kernel_id: str
    """The build's id; its last word is the unique part."""
    script_commit: str | None
    """The repository's commit; None for a folder."""

    def payload(self) -> dict[str, object]:
        """Return the JSON object that Hugging Face's command writes."""
        machine = self.machine
        payload: dict[str, object] = {
            "results": [_result(name, timing) for name, timing in self.timings.items()],
            "machineInfo": {
                "gpu": machine.gpu,
                "backend": machine.backend,
                "pytorchVersion": machine.pytorch_version,
                "os": machine.os,
                "cpu": machine.cpu,
            },
            "kernelCommitSha": self.kernel_id.rpartition("_")[2],
            "benchmarkScriptPath": "benchmarks",
        }
        if self.script_commit is not None:
            payload["benchmarkScriptSha"] = self.script_commit
        return payload

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row per workload, for ``COLUMNS``."""
        return [_row(name, timing) for name, timing in self.timings.items()]


def _result(name: str, timing: Timing) -> dict[str, object]:
    result: dict[str, object] = {
        "workload": name,
        "timingResults": {field: getattr(timing, field) for field in _FIELDS},
    }
    if timing.verified is not None:
        result["verified"] = timing.verified
    return result


def _row(name: str, timing: Timing) -> tuple[str, ...]:
    case, _, workload = name.rpartition(".")
    times = (timing.mean_ms, timing.std_ms, timing.min_ms, timing.max_ms, timing.iqr_ms)
    return (
        case,
        workload,
        str(timing.iterations),
        "" if timing.speedup is None else f"{timing.speedup:.2f}x",
        *(f"{time:.4f}" for time in times),
        str(timing.outliers),
        "" if timing.reference_ms is None else f"{timing.reference_ms:.4f}",
        _MARKS[timing.verified],
    )
