"""Whether a binary holds device code for exactly the architectures that its metadata will claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_archs(found: Sequence[str], *, wanted: Sequence[str]) -> tuple[Finding, ...]:
    """Compare the architectures of the code objects in a binary with the planned ones."""
    missing = sorted(set(wanted) - set(found))
    extra = sorted(set(found) - set(wanted))
    texts = [f"no device code for {arch} in the binary" for arch in missing]
    texts += [f"device code for {arch} in the binary, which nobody asked for" for arch in extra]
    return tuple(Finding(problem=text) for text in texts)
