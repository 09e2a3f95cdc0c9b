"""What came of a trial: read, judged and printed."""

from __future__ import annotations

import pytest
from tests.unit.builder.trial.fakes import CPU, ROCM, finding, plan, report

from kernelmill.builder.errors import TrialError
from kernelmill.builder.trial.outcome import (
    Counts,
    Fault,
    Launches,
    Outcome,
    judge,
    read_counts,
    read_launches,
)
from kernelmill.builder.trial.render import outcomes_json, render_outcomes

(ON_CPU,) = plan([CPU]).trials
(EMULATED,) = plan([ROCM], emulate=True, sanitize=True).trials
FAULT = Fault(
    kernel="sum",
    kind="lds-race",
    source="sum.hip:21",
    work_item="0:64",
    address=0x1750,
    instruction="ds_write_b32 v2, v1",
    detail="byte 256",
    launches=2,
)
SOME = Launches(count=2, failed=0, instructions=200, seconds=1.0, kernels=("sum",))
NONE = Launches(count=0, failed=0, instructions=0, seconds=0.0, kernels=())


def counts(passed: int = 0, failed: int = 0, errors: int = 0, skipped: int = 0) -> Counts:
    return Counts(passed=passed, failed=failed, errors=errors, skipped=skipped)


def test_counts_are_those_of_all_suites_when_read() -> None:
    text = (
        "<testsuites><testsuite tests='9' failures='1' errors='2' skipped='3'/>"
        "<testsuite tests='1'/></testsuites>"
    )
    assert read_counts(text) == counts(passed=4, failed=1, errors=2, skipped=3)


def test_one_fault_is_reported_when_many_launches_show_it() -> None:
    again = finding(work_item=65)
    launches, faults = read_launches(report([finding()], [again]))
    assert (launches, faults) == (SOME, (FAULT,))


def test_faults_are_sorted_and_kept_apart_when_they_differ() -> None:
    code = finding(kind="mfma-hazard", workgroup=-1, work_item=-1, source="")
    _, faults = read_launches(report([finding(address=0x2000), finding(), code]))
    assert [(it.kind, it.address, it.work_item) for it in faults] == [
        ("lds-race", 0x1750, "0:64"),
        ("lds-race", 0x2000, "0:64"),
        ("mfma-hazard", 0x1750, ""),
    ]


def test_failed_launches_are_counted_when_read() -> None:
    launches, _ = read_launches(report([], [], error="wild"))
    assert (launches.count, launches.failed) == (2, 2)


def test_report_is_refused_when_its_form_is_new() -> None:
    with pytest.raises(TrialError, match="kernel-emulator reports in form 2, not known here"):
        read_launches(report(version=2))


@pytest.mark.parametrize(
    ("status", "found", "problem"),
    [
        pytest.param(0, counts(passed=3, skipped=2), "", id="fine"),
        pytest.param(1, counts(passed=3, failed=1, errors=1), "2 of 5 tests failed", id="failed"),
        pytest.param(5, counts(), "there are no tests", id="none"),
        pytest.param(
            0,
            counts(skipped=4),
            "every test was skipped (4), which shows nothing of the kernel",
            id="all-skipped",
        ),
        pytest.param(2, counts(passed=1), "pytest ended with status 2", id="interrupted"),
    ],
)
def test_trial_is_judged_by_its_tests_when_native(status: int, found: Counts, problem: str) -> None:
    said = judge(ON_CPU, status=status, counts=found, launches=None, faults=())
    assert said == problem


@pytest.mark.parametrize(
    ("launches", "faults", "status", "problem"),
    [
        pytest.param(SOME, (), 0, "", id="fine"),
        pytest.param(NONE, (), 0, "no kernel was launched on the emulated device", id="none"),
        pytest.param(None, (), 0, "no kernel was launched on the emulated device", id="no-log"),
        pytest.param(SOME, (FAULT,), 1, "the sanitizer found 1 fault", id="fault"),
    ],
)
def test_trial_is_judged_by_its_launches_when_emulated(
    launches: Launches | None, faults: tuple[Fault, ...], status: int, problem: str
) -> None:
    found = counts(passed=3)
    assert judge(EMULATED, status=status, counts=found, launches=launches, faults=faults) == problem


OUTCOMES = (
    Outcome(
        trial=ON_CPU,
        counts=counts(passed=3),
        launches=None,
        faults=(),
        seconds=2.04,
        problem="",
    ),
    Outcome(
        trial=EMULATED,
        counts=counts(passed=2, skipped=1),
        launches=SOME,
        faults=(FAULT,),
        seconds=10.0,
        problem="the sanitizer found 1 fault",
    ),
)


def test_tables_name_kernel_kind_line_work_item_and_address_when_printed() -> None:
    assert (
        render_outcomes(OUTCOMES)
        == f"""\
sanitizer (emulated):
kernel  kind      source line  work-item  address  instruction          launches
sum     lds-race  sum.hip:21   0:64       0x1750   ds_write_b32 v2, v1  2

lds-race: byte 256

variant                             run on    passed  failed  skipped  launches  seconds
{CPU}     cpu       3       0       0        -         2.0      ok
{ROCM}  emulated  2       0       1        2         10.0     the sanitizer found 1 fault"""
    )


def test_json_has_every_number_when_printed() -> None:
    made = outcomes_json(OUTCOMES)
    assert made["passed"] is False
    assert outcomes_json(OUTCOMES[:1])["passed"] is True
    trials = made["trials"]
    assert isinstance(trials, list)
    assert trials[0]["launches"] is None
    assert trials[1]["runner"] == "emulated"
    assert trials[1]["tests"] == {"passed": 2, "failed": 0, "errors": 0, "skipped": 1}
    assert trials[1]["findings"][0]["source"] == "sum.hip:21"
    assert trials[1]["findings"][0]["address"] == 0x1750
