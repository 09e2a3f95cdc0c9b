"""What came of a campaign, as JSON and as the tables of ``docs/sanitizer.md``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.planted.programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tests.planted.values import Outcome, Verdict

FAMILIES: Final = ("source", "host", "machine code")
START: Final = "<!-- Written by python -m tests.planted --write: from here -->"
END: Final = "<!-- to here -->"
_NUMBERED = re.compile(r"(\w+) (\d+) of (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many bugs there were, and what came of them."""

    planted: int
    equivalent: int
    """Of these: they make nothing wrong, and nothing was reported."""
    found: int
    """Something was reported."""
    named: int
    """Something of the right kind was reported."""

    @property
    def rate(self) -> float:
        """Return which share of the bugs that make something wrong was named rightly."""
        wrong = self.planted - self.equivalent
        return self.named / wrong if wrong else 1.0


def tally(verdicts: Iterable[Verdict]) -> Tally:
    """Count verdicts."""
    items = tuple(verdicts)
    return Tally(
        planted=len(items),
        equivalent=sum(bool(item.bug.equivalent) and item.is_survivor for item in items),
        found=sum(not item.is_survivor for item in items),
        named=sum(item.is_right for item in items),
    )


def unexplained(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return what is neither named rightly nor a survivor that is known to be equivalent."""
    return tuple(
        item
        for item in verdicts
        if (not item.is_survivor if item.bug.equivalent else not item.is_right)
    )


def to_json(
    verdicts: Sequence[Verdict], clean: Mapping[str, Sequence[Outcome]]
) -> dict[str, object]:
    """Return everything about a campaign."""
    total = tally(verdicts)
    return {
        "version": 1,
        "source": "emulated gfx942",
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "rate": round(total.rate, 4),
        "clean": {name: [sorted(item.kinds) for item in items] for name, items in clean.items()},
        "bugs": [
            {
                "program": item.bug.program,
                "family": item.bug.family,
                "name": item.bug.name,
                "expected": sorted(item.bug.kinds),
                "reported": sorted(item.outcome.kinds),
                "is_right": item.is_right,
                "equivalent": item.bug.equivalent,
                "details": item.outcome.details[:3],
                "cpu_seconds": round(item.outcome.seconds, 3),
            }
            for item in verdicts
        ],
    }


def to_text(verdicts: Sequence[Verdict], clean: Mapping[str, Sequence[Outcome]]) -> str:
    """Return the tables in Markdown."""
    return "\n".join(
        [*_by_program(verdicts, clean), "", *_by_kind(verdicts), "", *_survivors(verdicts)]
    )


def _by_program(
    verdicts: Sequence[Verdict], clean: Mapping[str, Sequence[Outcome]]
) -> Iterator[str]:
    planted = "planted: source, host, machine code"
    yield f"| kernel | {planted} | equivalent | found | right kind | as it is |"
    yield "|---|---|---|---|---|---|"
    for name in PROGRAMS:
        mine = [item for item in verdicts if item.bug.program == name]
        if not mine:
            continue
        findings = sum(len(outcome.details) for outcome in clean[name])
        verdict = f"{findings} findings" if findings else "no finding"
        yield f"| {name} | {_row(mine)} | {verdict} |"
    findings = sum(len(outcome.details) for items in clean.values() for outcome in items)
    yield f"| all | {_row(verdicts)} | {f'{findings} findings' if findings else 'no finding'} |"


def _row(verdicts: Sequence[Verdict]) -> str:
    counts = [sum(item.bug.family == family for item in verdicts) for family in FAMILIES]
    of = tally(verdicts)
    planted = f"{of.planted}: {', '.join(map(str, counts))}"
    return f"{planted} | {of.equivalent} | {of.found} | {of.named} ({of.rate:.1%})"


def _by_kind(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield "| kind | bugs that should be reported so | were |"
    yield "|---|---|---|"
    kinds = sorted({kind for item in verdicts for kind in item.bug.kinds})
    for kind in kinds:
        mine = [item for item in verdicts if kind in item.bug.kinds and not item.bug.equivalent]
        yield f"| `{kind}` | {len(mine)} | {sum(kind in item.outcome.kinds for item in mine)} |"


def _survivors(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield "| kernel | changes without consequence | why |"
    yield "|---|---|---|"
    reasons: dict[tuple[str, str], list[str]] = {}
    for item in verdicts:
        if item.bug.equivalent and item.is_survivor:
            key = item.bug.program, item.bug.equivalent
            reasons.setdefault(key, []).append(item.bug.name)
    for (program, reason), names in reasons.items():
        yield f"| {program} | {_shortened(names)} | {reason} |"
    for item in unexplained(verdicts):
        reported = ", ".join(sorted(item.outcome.kinds)) or "nothing"
        yield f"| {item.bug.program} | {item.bug.name} | **missed**: reported is {reported} |"


def _shortened(names: Sequence[str]) -> str:
    """Return the names of bugs; those in machine code by number only."""
    numbered = [_NUMBERED.match(name) for name in names]
    if not all(numbered):
        return "; ".join(names)
    parts = [match.groups() for match in numbered if match]
    numbers = ", ".join(dict.fromkeys(number for _, number, _ in parts))
    mnemonic, _, total = parts[0]
    count = "1 change" if len(names) == 1 else f"{len(names)} changes"
    return f"`{mnemonic}` {numbers} of {total}: {count}"


def with_tables(page: str, tables: str) -> str:
    """Return a page with its tables replaced."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{tables}\n\n{END}{after}"
