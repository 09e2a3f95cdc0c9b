"""Changes of machine code that make nothing wrong, and why.

The numbers count the instructions of one kind in a kernel, as zig's clang compiles it, from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalent:
    """Instructions that a kernel, launched as it is here, could do without."""

    program: str
    mnemonic: str
    numbers: frozenset[int]
    reason: str


def equivalent(program: str, mnemonic: str, *numbers: int, reason: str) -> Equivalent:
    """Return an entry of the table below."""
    return Equivalent(
        program=program, mnemonic=mnemonic, numbers=frozenset(numbers), reason=reason
    )  # fmt: skip


EQUIVALENTS: Final = (
    equivalent(
        "gemm", "s_waitcnt", 18, 33, 48, 63, 73, 88, 103, 118, 135,
        reason="each byte of a chunk was waited for in the branch that loads it; a chunk that came"
        " whole and is still in flight there is used later, behind another wait",
    ),
    equivalent(
        "gemm", "s_waitcnt", 137,
        reason="after the last step, which fetches nothing, no load is in flight",
    ),
    equivalent(
        "reduction", "s_barrier", *range(3, 10), *range(13, 20),
        reason="from the level of 64 on only wave 0 reads and writes, and a wave keeps its order",
    ),
    equivalent(
        "reduction", "s_barrier", 10, 20,
        reason="before it only wave 0 reads, what only wave 0 writes after it",
    ),
    equivalent(
        "scan", "s_barrier", 9,
        reason="the last step: each thread reads back what it wrote itself",
    ),
    equivalent(
        "scan", "s_waitcnt", *range(5, 21, 3),
        reason="for waves that skip the sum before it; in steps below 64 each wave has a lane that"
        " takes the sum, and waits there",
    ),
    equivalent(
        "stencil", "s_waitcnt", 4, 7,
        reason="a register of the halo's load is used again; each way from that load led through"
        " the wait before the load was stored to LDS",
    ),
    equivalent(
        "matrix", "s_waitcnt", 6, 7,
        reason="the one in the assembly and the compiler's own follow each other: one is enough",
    ),
)  # fmt: skip


def reason(program: str, mnemonic: str, number: int) -> str:
    """Return why an instruction is not needed; empty if it is."""
    for item in EQUIVALENTS:
        if (item.program, item.mnemonic) == (program, mnemonic) and number in item.numbers:
            return item.reason
    return ""
