"""Registers of many waves at once, and the view of them that one instruction works on.

A *batch* is a number of workgroups that run together; a *row* is one wave of it. Row ``w * G + g``
is wave ``w`` of the batch's workgroup ``g`` of ``G``, so that the waves which a kernel treats alike
are neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import ALL_LANES, LANES, POISON, Array, join, lanes_of, split

if TYPE_CHECKING:
    from kernelmill.emulator.batch import Batch

SCALARS: Final = 128
"""Scalar registers by the numbers of the instruction encoding: s0.., vcc 106, m0 124, exec 126."""
VCC: Final = 106
M0: Final = 124
EXEC: Final = 126
EXEC_PAIR: Final = EXEC // 2
DENORMAL_BIT: Final = {16: 6, 32: 4, 64: 6}
"""Of MODE: where the two bits lie that say whether denormal numbers are kept, by width."""
ALL_BITS: Final = np.uint32(0xFFFF_FFFF)


class Registers:
    """All registers of a batch."""

    def __init__(self, *, vectors: int, waves: int) -> None:
        self.vectors = np.full((vectors, waves, LANES), POISON, np.uint32)
        """[register, wave, lane]: v0.., then a0.. (``Program.accumulators`` says where)."""
        self.pairs = np.zeros((SCALARS // 2, waves), np.uint64)
        """[pair of scalar registers, wave]."""
        self.scalars = self.pairs.view(np.uint32).reshape(SCALARS // 2, waves, 2)
        self.scc = np.zeros(waves, np.bool_)
        self.mode = np.zeros(waves, np.uint32)
        """The MODE register: rounding, denormals."""


class Waves:
    """Some waves of a batch that execute the same instruction: what an operation gets."""

    def __init__(self, batch: Batch, rows: Array) -> None:
        self.batch = batch
        self.registers = batch.registers
        self.count = len(rows)
        self.indices = rows
        self.fragments: dict[int, Array] = {}
        """Operands of matrix instructions, decoded; filled and read within one block."""
        first, last = int(rows[0]), int(rows[-1])
        self.is_range = last - first + 1 == self.count
        self.rows: slice | Array = slice(first, last + 1) if self.is_range else rows
        vectors = self.registers.vectors
        self.words = vectors[:, first : last + 1] if self.is_range else vectors
        self.floats = self.words.view(np.float32)
        self.integers = self.words.view(np.int32)
        self._full: bool | None = None
        self._lanes: Array | None = None
        self._bits: Array | None = None

    # Lanes

    def forget_lanes(self) -> None:
        """Take note that EXEC was written."""
        self._full = self._lanes = self._bits = None

    @property
    def is_full(self) -> bool:
        """Say whether all lanes of all these waves are active."""
        if self._full is None:
            self._full = bool((self.exec == ALL_LANES).all())
        return self._full

    @property
    def exec(self) -> Array:
        """Return EXEC: uint64 [wave]."""
        result: Array = self.registers.pairs[EXEC_PAIR][self.rows]
        return result

    @property
    def lanes(self) -> Array:
        """Return which lanes are active: bool [wave, lane]."""
        if self._lanes is None:
            self._lanes = lanes_of(self.exec)
        return self._lanes

    @property
    def lane_bits(self) -> Array:
        """Return all ones for active lanes, else 0: uint32 [wave, lane]."""
        if self._bits is None:
            self._bits = np.multiply(self.lanes, ALL_BITS, dtype=np.uint32)
        return self._bits

    def flushes(self, width: int) -> Array:
        """Return whether each wave flushes denormal numbers of ``width`` bits: bool [wave, 1]."""
        shift = np.uint32(DENORMAL_BIT[width])
        kept = (self.registers.mode[self.rows] >> shift) & np.uint32(3)
        result: Array = (kept != 3)[:, None]
        return result

    # Vector registers

    def word(self, index: int) -> Array:
        """Return a vector register as uint32 [wave, lane]; a view where that is possible."""
        result: Array = (
            self.words[index] if self.is_range else self.words[index].take(self.rows, axis=0)
        )
        return result

    def real(self, index: int) -> Array:
        """Return a vector register as float32 [wave, lane]."""
        result: Array = (
            self.floats[index] if self.is_range else self.floats[index].take(self.rows, axis=0)
        )
        return result

    def integer(self, index: int) -> Array:
        """Return a vector register as int32 [wave, lane]."""
        table = self.integers
        result: Array = table[index] if self.is_range else table[index].take(self.rows, axis=0)
        return result

    def put(self, index: int, value: Array) -> None:
        """Write 32-bit values to the active lanes of a vector register."""
        target = self.word(index)
        bits = value if value.dtype == np.uint32 else value.view(np.uint32)
        if self.is_full:
            if self.is_range:
                np.copyto(target, bits)
            else:
                self.words[index][self.rows] = bits
            return
        # Three passes over whole words are several times faster than NumPy's masked copy.
        change = target ^ bits
        change &= self.lane_bits
        if self.is_range:
            target ^= change
        else:
            self.words[index][self.rows] = target ^ change

    def put_lanes(self, index: int, value: Array, lanes: Array) -> None:
        """Write 32-bit values to those of ``lanes`` (bool [wave, lane]), whatever EXEC is."""
        target = self.word(index)
        bits = np.where(lanes, value.view(np.uint32), target)
        if self.is_range:
            np.copyto(target, bits)
        else:
            self.words[index][self.rows] = bits

    def wide(self, index: int) -> Array:
        """Return two vector registers as uint64 [wave, lane]."""
        return join(self.word(index), self.word(index + 1))

    def put_wide(self, index: int, value: Array) -> None:
        """Write 64-bit values to the active lanes of two vector registers."""
        parts = split(value)
        self.put(index, parts[..., 0])
        self.put(index + 1, parts[..., 1])

    # Scalar registers

    def scalar(self, index: int) -> Array:
        """Return a scalar register: uint32 [wave]."""
        return self.registers.scalars[index >> 1, self.rows, index & 1]

    def put_scalar(self, index: int, value: Array) -> None:
        """Write a scalar register."""
        self.registers.scalars[index >> 1, self.rows, index & 1] = value
        if index >= EXEC:
            self.forget_lanes()

    def pair(self, index: int) -> Array:
        """Return two scalar registers, the first of them even: uint64 [wave]."""
        return self.registers.pairs[index >> 1, self.rows]

    def put_pair(self, index: int, value: Array) -> None:
        """Write two scalar registers, the first of them even."""
        self.registers.pairs[index >> 1, self.rows] = value
        if index == EXEC:
            self.forget_lanes()

    @property
    def scc(self) -> Array:
        """Return the scalar condition code: bool [wave]."""
        return self.registers.scc[self.rows]

    @scc.setter
    def scc(self, value: Array) -> None:
        self.registers.scc[self.rows] = value
