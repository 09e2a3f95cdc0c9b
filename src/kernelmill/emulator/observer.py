"""What may watch a launch: the sanitizer and the counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.program import Block, Decoded
    from kernelmill.emulator.registers import Waves

Access = Literal["read", "write", "atomic"]


class Observer(Protocol):
    """Is told of every block and every access. Lanes are bool [wave, lane]."""

    def on_block(self, block: Block, waves: Waves) -> None:
        """Waves are about to run a block."""

    def on_global(
        self, w: Waves, site: Decoded, access: Access, addresses: Array, lanes: Array, width: int
    ) -> None:
        """Lanes access ``width`` bytes at host addresses, all of them inside allocations."""

    def on_wild(
        self, w: Waves, site: Decoded, access: Access, addresses: Array, wild: Array, width: int
    ) -> bool:
        """Lanes access addresses outside every allocation; say whether the launch goes on."""

    def on_lds(
        self, w: Waves, site: Decoded, access: Access, place: Array, lanes: Array, width: int
    ) -> None:
        """Lanes access ``width`` bytes at byte offsets in their workgroup's LDS, inside it."""

    def on_wild_lds(
        self, w: Waves, site: Decoded, access: Access, place: Array, wild: Array, width: int
    ) -> None:
        """Lanes access LDS outside of what their workgroup has."""

    def on_barrier(self, rows: Array, resume: Array) -> None:
        """Whole workgroups pass a barrier: the waves that came, and where each goes on."""

    def on_end(self) -> None:
        """Every wave has ended."""
