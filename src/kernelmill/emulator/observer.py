"""What may watch a launch: the sanitizer and the counters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.program import Block, Decoded
    from kernelmill.emulator.registers import Waves

Access = Literal["read", "write", "atomic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An instruction that accesses memory."""

    decoded: Decoded
    access: Access
    width_bytes: int
    """Of one lane's access."""

    def __str__(self) -> str:
        return str(self.decoded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """One execution of such an instruction by some waves."""

    waves: Waves
    site: Site
    addresses: Array
    """Int64 [wave, lane]: host addresses, or byte offsets in the workgroup's LDS."""
    lanes: Array
    """Bool [wave, lane]: which lanes it is about."""


class Observer(Protocol):
    """Is told of every block, access and barrier."""

    def on_block(self, block: Block, waves: Waves) -> None:
        """Waves are about to run a block."""

    def on_global(self, touch: Touch) -> None:
        """Lanes access global memory, all of them inside allocations."""

    def on_wild(self, touch: Touch) -> bool:
        """Lanes access addresses outside every allocation; say whether the launch goes on."""

    def on_lds(self, touch: Touch) -> None:
        """Lanes access LDS, inside of what their workgroup has."""

    def on_wild_lds(self, touch: Touch) -> None:
        """Lanes access LDS outside of what their workgroup has."""

    def on_barrier(self, rows: Array, resume: Array) -> None:
        """Whole workgroups pass a barrier: the waves that came, and where each goes on."""

    def on_end(self) -> None:
        """Every wave has ended."""
