"""What a launch did, as a value, as JSON and as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.emulator.counters import Counters
    from kernelmill.emulator.findings import Finding
    from kernelmill.emulator.resources import Resources

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchReport:
    """What a launch did."""

    kernel: str
    instructions: int
    """Executed, counted once for each wave."""
    mnemonics: Mapping[str, int] = field(repr=False)
    """How often each was executed, counted once for each wave."""
    flops: int
    """Multiplications and additions issued: an instruction counts with all 64 lanes."""
    findings: tuple[Finding, ...]
    """Empty unless the launch was sanitized, or it is clean."""
    counters: Counters | None = field(repr=False)
    """Of memory and LDS, if they were asked for."""
    resources: Resources | None = field(repr=False)
    """What its waves take up, if counters were asked for."""
    seconds: float
    """Of this computer: it says nothing of a GPU."""

    @property
    def profile(self) -> dict[str, object] | None:
        """Return what was counted, as ``kernelmill.emulator.profile`` reads it, or ``None``."""
        if self.counters is None or self.resources is None:
            return None
        counted = {"mnemonics": dict(self.mnemonics), "resources": asdict(self.resources)}
        return counted | asdict(self.counters)


def to_json(report: DispatchReport) -> dict[str, object]:
    """Return a report as JSON has it. Nothing in it is a time on a GPU."""
    return {
        "version": VERSION,
        "source": "emulated",
        **{key: value for key, value in asdict(report).items() if key != "seconds"},
        "emulator_seconds": report.seconds,
    }


def to_text(report: DispatchReport) -> str:
    """Return a report as a table."""
    lines = [
        f"{report.kernel} (emulated)",
        f"  instructions {report.instructions:>16,}",
        f"  FLOPs issued {report.flops:>16,}",
    ]
    most = sorted(report.mnemonics.items(), key=lambda item: (-item[1], item[0]))[:20]
    lines += [f"    {name:<36}{count:>14,}" for name, count in most]
    if report.counters is not None:
        lines += report.counters.lines()
    lines += [f"  {finding}" for finding in report.findings]
    return "\n".join(lines)
