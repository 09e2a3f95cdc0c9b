"""What came of testing one variant: read from pytest's and the emulator's reports, and judged."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelmill.builder.errors import TrialError
from kernelmill.builder.trial.plan import Runner
from kernelmill.builder.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelmill.builder.trial.plan import Trial

REPORT_VERSION = 1
NO_TESTS_STATUS = 5
"""Of pytest, when it collected none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How tests ended."""

    passed: int
    failed: int
    errors: int
    skipped: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.passed + self.failed + self.errors + self.skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A finding of the sanitizer, at one instruction of a kernel."""

    kernel: str
    kind: str
    source: str
    """``file:line``, or empty without debug information."""
    work_item: str
    """Workgroup and flat number in it of the first one seen, or empty."""
    address: int
    """Of the instruction, in the code object."""
    instruction: str
    detail: str
    launches: int
    """How many showed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launches:
    """What was executed on the emulated device."""

    count: int
    failed: int
    instructions: int
    """Wave instructions."""
    seconds: float
    """Of emulation: says nothing about a GPU."""
    kernels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one trial."""

    trial: Trial
    counts: Counts
    launches: Launches | None
    """None unless it was emulated."""
    faults: tuple[Fault, ...]
    seconds: float
    problem: str
    """Why it counts as failed; empty when it does not."""


def read_counts(text: str) -> Counts:
    """Read pytest's report, in the JUnit form."""
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite in ET.fromstring(text).iter("testsuite"):
        for name in totals:
            totals[name] += int(suite.get(name, "0"))
    failed, errors, skipped = totals["failures"], totals["errors"], totals["skipped"]
    passed = totals["tests"] - failed - errors - skipped
    return Counts(passed=passed, failed=failed, errors=errors, skipped=skipped)


def read_launches(text: str) -> tuple[Launches, tuple[Fault, ...]]:
    """Read the report of ``kernel-emulator run``.

    Raises:
        TrialError: it has another form than this version knows.
    """
    report = json.loads(text)
    if report["version"] != REPORT_VERSION:
        raise TrialError(f"kernel-emulator reports in form {report['version']}, not known here")
    every: list[Mapping[str, Any]] = report["launches"]
    launches = Launches(
        count=len(every),
        failed=sum(1 for it in every if it["error"]),
        instructions=sum(it["instructions"] for it in every),
        seconds=sum(it["seconds"] for it in every),
        kernels=tuple(sorted({it["kernel"] for it in every})),
    )
    return launches, _merge(finding for launch in every for finding in launch["findings"])


def _merge(findings: Iterable[Mapping[str, Any]]) -> tuple[Fault, ...]:
    """Return one fault for each kind and instruction; many launches show the same one."""
    first: dict[tuple[str, str, int], Mapping[str, Any]] = {}
    count: Counter[tuple[str, str, int]] = Counter()
    for finding in findings:
        key = (finding["kernel"], finding["kind"], finding["address"])
        first.setdefault(key, finding)
        count[key] += 1
    return tuple(
        Fault(
            kernel=it["kernel"],
            kind=it["kind"],
            source=it["source"],
            work_item=_work_item(it),
            address=it["address"],
            instruction=it["instruction"],
            detail=it["detail"],
            launches=count[key],
        )
        for key, it in sorted(first.items())
    )


def _work_item(finding: Mapping[str, Any]) -> str:
    if finding["work_item"] < 0:
        return ""
    return f"{finding['workgroup']}:{finding['work_item']}"


def judge(
    trial: Trial,
    *,
    status: int,
    counts: Counts,
    launches: Launches | None,
    faults: tuple[Fault, ...],
) -> str:
    """Return why a trial failed, or nothing.

    Args:
        trial: what was tested.
        status: of the command.
        counts: of its tests.
        launches: of its kernels, if it was emulated.
        faults: what the sanitizer found.
    """
    bad = counts.failed + counts.errors
    checks = {
        f"{bad} of {counts.total} tests failed": bad > 0,
        "there are no tests": counts.total == 0 or status == NO_TESTS_STATUS,
        f"every test was skipped ({counts.skipped}), which shows nothing of the kernel": (
            counts.total > 0 and counts.skipped == counts.total
        ),
        "no kernel was launched on the emulated device": (
            trial.runner is Runner.EMULATOR and not (launches and launches.count)
        ),
        f"the sanitizer found {count_of(len(faults), 'fault')}": bool(faults),
    }
    problems = [text for text, is_so in checks.items() if is_so]
    if not problems and status:
        problems = [f"pytest ended with status {status}"]
    return "; ".join(problems)
