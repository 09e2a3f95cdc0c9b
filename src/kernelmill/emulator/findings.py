"""What the sanitizer reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

Kind = Literal[
    "out-of-bounds",
    "use-after-free",
    "lds-out-of-bounds",
    "scratch-out-of-bounds",
    "lds-race",
    "global-race",
    "uninitialised-register",
    "uninitialised-lds",
    "uninitialised-memory",
    "missing-wait",
    "divergent-barrier",
    "mfma-hazard",
]
MOST: Final = 1000
"""Different findings that are kept of one launch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault of device code, at one instruction."""

    kind: Kind
    kernel: str
    address: int
    """Of the instruction, in the code object."""
    instruction: str
    source: str
    """``file:line``, or empty without debug information."""
    workgroup: int
    """The first one that showed it; -1 when it is a matter of the code alone."""
    work_item: int
    """Flat number in the workgroup; -1 as above."""
    detail: str
    count: int = 1
    """How often it was seen: lanes or waves."""

    def __str__(self) -> str:
        place = f" ({self.source})" if self.source else ""
        who = f", workgroup {self.workgroup}" if self.workgroup >= 0 else ""
        who += f", work-item {self.work_item}" if self.work_item >= 0 else ""
        times = f" [{self.count} times]" if self.count > 1 else ""
        return (
            f"{self.kind}: {self.kernel} at {self.address:#x}{place}: {self.instruction}:"
            f" {self.detail}{who}{times}"
        )


class Findings:
    """Findings of one launch: one for each kind and instruction."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], Finding] = {}

    def add(self, finding: Finding) -> None:
        """Keep a finding, or count it with the one of the same kind and instruction."""
        key = finding.kind, finding.address
        known = self._found.get(key)
        if known is not None:
            self._found[key] = replace(known, count=known.count + finding.count)
        elif len(self._found) < MOST:
            self._found[key] = finding

    @property
    def all(self) -> tuple[Finding, ...]:
        """Return the findings by address and kind."""
        return tuple(sorted(self._found.values(), key=lambda item: (item.address, item.kind)))
