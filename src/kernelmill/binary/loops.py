"""The hot loop of an AMD kernel, and what its instructions do. A static view: nothing is counted.

A backward branch closes a loop. The hot loop is the innermost one with most matrix instructions, or
simply with most instructions where there are none; how often it runs is not known here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.binary.disassembly import MATRIX_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelmill.binary.disassembly import Instruction

_BRANCH_BYTES: Final = 4
_KINDS: Final = (
    ("matrix", MATRIX_PREFIXES),
    ("wait", ("s_waitcnt", "s_wait_", "s_barrier", "s_nop", "s_sleep", "s_delay")),
    ("branch", ("s_cbranch", "s_branch", "s_setpc", "s_swappc", "s_endpgm")),
    ("lds", ("ds_",)),
    ("memory", ("global_", "buffer_", "flat_", "scratch_", "s_load", "s_buffer", "s_store")),
    ("vector", ("v_",)),
    ("scalar", ("s_",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HotLoop:
    """One loop."""

    start: int
    """Address of its first instruction."""
    code_bytes: int
    instructions: int
    mix: Mapping[str, int]
    """Kind -> instructions: matrix, vector, scalar, lds, memory, wait, branch, other."""


def find_hot_loop(instructions: Sequence[Instruction]) -> HotLoop | None:
    """Return the hot loop of a kernel; None for straight code."""
    loops = _innermost(_loops(instructions))
    bodies = [
        [it for it in instructions if start <= it.address < end] for start, end in sorted(loops)
    ]
    if not bodies:
        return None
    body = max(bodies, key=lambda held: (_mix(held).get("matrix", 0), len(held)))
    return HotLoop(
        start=body[0].address,
        code_bytes=sum(it.size_bytes for it in body),
        instructions=len(body),
        mix=_mix(body),
    )


def kind_of(mnemonic: str) -> str:
    """Return what an instruction does, in one word."""
    return next((kind for kind, starts in _KINDS if mnemonic.startswith(starts)), "other")


def _mix(body: Sequence[Instruction]) -> dict[str, int]:
    return dict(sorted(Counter(kind_of(it.mnemonic) for it in body).items()))


def _loops(instructions: Sequence[Instruction]) -> set[tuple[int, int]]:
    """Return the [start, end) of every backward branch."""
    first = instructions[0].address if instructions else 0
    found = set()
    for it in instructions:
        if not it.mnemonic.startswith(("s_cbranch", "s_branch")):
            continue
        words = int(it.operands) if it.operands.isdecimal() else 0
        signed = words - 0x10000 if words & 0x8000 else words
        target = it.address + _BRANCH_BYTES + 4 * signed
        if signed < 0 and target >= first:
            found.add((target, it.address + it.size_bytes))
    return found


def _innermost(loops: set[tuple[int, int]]) -> list[tuple[int, int]]:
    return [
        outer
        for outer in loops
        if not any(
            inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1] for inner in loops
        )
    ]
