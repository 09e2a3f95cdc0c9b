"""Names that a hermetic build and those who start it share."""

from __future__ import annotations

from typing import Final

REPORT: Final = "report.json"
"""In ``/out`` when there is no variant: why."""
STATEMENT_SUFFIX: Final = ".intoto.json"
"""Of the statement beside the variant's folder."""
EPOCH: Final = 315_532_800
"""The time of every source file: 1980-01-01, the first day that zip files know."""
