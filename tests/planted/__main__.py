"""Plant every bug: ``python -m tests.planted``. The report goes to ``reports/``."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Final

from tests.planted.campaign import all_bugs, run_campaign, run_clean
from tests.planted.programs import PROGRAMS
from tests.planted.report import tally, to_json, to_text, unexplained, with_tables
from tests.planted.trial import ROOT

REPORT: Final = ROOT / "reports" / "planted-bugs.json"
PAGE: Final = ROOT / "docs" / "sanitizer.md"


def main() -> int:
    """Run the campaign; the status is 1 when a bug was not reported as it should be."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--program", choices=PROGRAMS, action="append", help="only this one")
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/sanitizer.md"
    )
    args = parser.parse_args()
    bugs = [bug for bug in all_bugs() if bug.program in (args.program or PROGRAMS)]
    verdicts, clean = run_campaign(bugs), run_clean()
    tables = to_text(verdicts, clean)
    sys.stdout.write(f"{tables}\n")
    for item in unexplained(verdicts):
        sys.stderr.write(
            f"{item.bug.program}: {item.bug.name}: want {sorted(item.bug.kinds)}, got"
            f" {sorted(item.outcome.kinds)} {item.outcome.details[:3]}\n"
        )
    if not args.program:
        REPORT.parent.mkdir(exist_ok=True)
        report = json.dumps(to_json(verdicts, clean), indent=2)
        REPORT.write_text(f"{report}\n", encoding="utf-8")
    if args.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_tables(page, tables), encoding="utf-8")
    return int(tally(verdicts).rate < 1)


if __name__ == "__main__":
    sys.exit(main())
