"""Checks of built kernels. They return findings; whoever asked decides what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import CheckError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong with a build."""

    problem: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.problem}\n    {self.hint}" if self.hint else self.problem


def require_no_findings(findings: Sequence[Finding], *, where: str) -> None:
    """Raise ``CheckError`` with every finding, if there is one."""
    if len(findings) == 1:
        raise CheckError(findings[0].problem, where=where, hint=findings[0].hint)
    if findings:
        listing = "\n".join(f"  - {finding}" for finding in findings)
        raise CheckError(f"{len(findings)} findings:\n{listing}", where=where)
