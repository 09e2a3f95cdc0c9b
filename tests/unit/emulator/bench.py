"""Run single instructions on registers that a test fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.binary.disassembly import Instruction
from kernelmill.emulator.arrays import ALL_LANES
from kernelmill.emulator.batch import Batch
from kernelmill.emulator.instructions.table import bind
from kernelmill.emulator.memory import Memory
from kernelmill.emulator.program import Layout, decode
from kernelmill.emulator.registers import EXEC_PAIR, Waves

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array

VECTORS: Final = 128
ACCUMULATORS: Final = 96
"""v0 to v95, then a0 to a31."""
GROUPS: Final = 2
WAVES: Final = 2
LANES: Final = 64


class Bench:
    """Two workgroups of one wave each; registers begin with noise."""

    def __init__(self, *, lds_bytes: int = 4096, private_bytes: int = 256, seed: int = 0) -> None:
        self.memory = Memory()
        self.batch = Batch(
            self.memory, workgroups=np.arange(GROUPS), waves_per_group=WAVES // GROUPS,
            vectors=VECTORS, lds_bytes=lds_bytes, private_bytes=private_bytes,
        )  # fmt: skip
        random = np.random.default_rng(seed)
        registers = self.batch.registers
        registers.vectors[:] = random.integers(0, 2**32, registers.vectors.shape, dtype=np.uint32)
        registers.pairs[:] = random.integers(0, 2**63, registers.pairs.shape, dtype=np.uint64)
        registers.pairs[EXEC_PAIR] = ALL_LANES
        registers.mode[:] = 0xF0
        self.layout = Layout(accumulators=ACCUMULATORS, vectors=VECTORS, image=0)

    def put(self, index: int, values: Array | np.generic) -> None:
        """Fill vector registers from ``index`` on: 32 or 64 bits, broadcast to [wave, lane]."""
        wide = np.ascontiguousarray(np.broadcast_to(values, (WAVES, LANES)))
        words = wide.view(np.uint32).reshape(WAVES, LANES, -1)
        for place in range(words.shape[-1]):
            self.batch.registers.vectors[index + place] = words[..., place]

    def get(self, index: int, dtype: str) -> Array:
        """Return vector registers from ``index`` on as [wave, lane] of ``dtype``."""
        count = max(np.dtype(dtype).itemsize // 4, 1)
        words = self.batch.registers.vectors[index : index + count]
        stacked: Array = np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(dtype)
        return stacked[..., 0]

    def put_scalar(self, index: int, value: int, *, words: int = 1) -> None:
        """Fill scalar registers of every wave."""
        for place in range(words):
            number = index + place
            word = value >> (32 * place) & 0xFFFF_FFFF
            self.batch.registers.scalars[number >> 1, :, number & 1] = word

    def get_scalar(self, index: int, *, words: int = 1) -> int:
        """Return scalar registers of the first wave."""
        scalars = self.batch.registers.scalars
        parts = [int(scalars[(index + i) >> 1, 0, (index + i) & 1]) for i in range(words)]
        return sum(part << (32 * place) for place, part in enumerate(parts))

    @property
    def scc(self) -> bool:
        """Return the scalar condition code of the first wave."""
        return bool(self.batch.registers.scc[0])

    def set_exec(self, mask: int) -> None:
        """Choose the active lanes of every wave."""
        self.batch.registers.pairs[EXEC_PAIR] = np.uint64(mask)

    def run(self, text: str, rows: list[int] | None = None) -> None:
        """Execute one instruction, as LLVM prints it, for all waves or for some rows."""
        mnemonic, _, operands = text.partition(" ")
        instruction = Instruction(
            address=0x100, size_bytes=8, mnemonic=mnemonic, operands=operands.strip()
        )
        operation = bind(decode(instruction), self.layout)
        with np.errstate(all="ignore"):
            if operation is not None:
                operation(Waves(self.batch, np.array(rows or range(WAVES))))
