"""Planted bugs are reported, with the right kind; clean kernels are not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.planted.__main__ import PAGE, REPORT
from tests.planted.campaign import WRITTEN, all_bugs, run_campaign, run_clean, try_one
from tests.planted.programs import PROGRAMS
from tests.planted.report import tally, to_json, to_text, unexplained, with_tables
from tests.planted.trial import launch_clean

if TYPE_CHECKING:
    from tests.planted.values import Bug, Verdict

    Campaign = tuple[Verdict, ...]

SAMPLE = (
    ("reduction", "no barrier before the tree", "lds-race"),
    ("reduction", "the sum begins with anything", "uninitialised-register"),
    ("reduction", "in is freed before the launch", "use-after-free"),
    ("transpose", "a barrier for the upper waves only", "divergent-barrier"),
    ("stencil", "no halo on the left", "uninitialised-lds"),
    ("stencil", "y past the height is read", "out-of-bounds"),
    ("stencil", "LDS has no room for the halo", "lds-out-of-bounds"),
    ("stencil", "out is in", "global-race"),
    ("histogram", "counts are not cleared", "uninitialised-memory"),
    ("matrix", "one wait state too few", "mfma-hazard"),
    ("matrix", "operands are not waited for", "missing-wait"),
    ("matrix", "b takes the wrong columns", "wrong-result"),
)
LEAST_RATE = 0.95


def find_bug(program: str, name: str) -> Bug:
    (bug,) = (bug for bug in WRITTEN if (bug.program, bug.name) == (program, name))
    return bug


@pytest.mark.parametrize(("program", "name", "kind"), SAMPLE, ids=[kind for *_, kind in SAMPLE])
def test_a_bug_is_reported_when_it_is_planted(program: str, name: str, kind: str) -> None:
    verdict = try_one(find_bug(program, name))

    assert kind in verdict.outcome.kinds, verdict.outcome.details


@pytest.mark.parametrize(
    ("program", "setup"),
    [(name, setup) for name, program in PROGRAMS.items() for setup in program.setups],
)
def test_nothing_is_reported_when_a_kernel_is_clean(program: str, setup: str) -> None:
    outcome = launch_clean(PROGRAMS[program], setup)

    assert outcome.details == ()
    assert outcome.kinds == frozenset()


def test_bugs_have_names_of_their_own() -> None:
    assert len({(bug.program, bug.name) for bug in WRITTEN}) == len(WRITTEN)


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    verdicts = run_campaign(all_bugs())
    REPORT.parent.mkdir(exist_ok=True)
    report = json.dumps(to_json(verdicts, run_clean()), indent=2)
    REPORT.write_text(f"{report}\n", encoding="utf-8")
    return verdicts


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_bug_is_reported_or_known_to_be_harmless(campaign: Campaign, program: str) -> None:
    mine = [verdict for verdict in campaign if verdict.bug.program == program]

    assert [(item.bug.name, item.outcome.kinds) for item in unexplained(mine)] == []


@pytest.mark.long
def test_bugs_are_named_rightly_when_all_are_planted(campaign: Campaign) -> None:
    total = tally(campaign)

    assert total.planted - total.equivalent >= 60
    assert total.rate >= LEAST_RATE


@pytest.mark.long
def test_the_page_says_what_the_campaign_showed(campaign: Campaign) -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert with_tables(page, to_text(campaign, run_clean())) == page
