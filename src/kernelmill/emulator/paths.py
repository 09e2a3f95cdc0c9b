"""Checks that depend only on the way a wave took: waits, matrix hazards, undefined registers.

A wave's *state* is what is in flight: loads that were not waited for, matrix results that are not
ready, registers never written. A block turns one state into another, always the same way; so each
pair of block and state is looked at once, however many waves come by.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.effects import SCALARS_FROM, Effects, effects_of, registers_of
from kernelmill.emulator.instructions.mfma import Shape, parse_shape
from kernelmill.emulator.registers import SCALARS

if TYPE_CHECKING:
    from kernelmill.emulator.findings import Kind
    from kernelmill.emulator.program import Block, Decoded, Layout
    from kernelmill.emulator.registers import Waves

Report = Callable[["Kind", "Decoded", str], None]

MOST_VECTOR: Final = 63
MOST_SCALAR: Final = 15
"""What the counters vmcnt and lgkmcnt can hold: a wave stalls before there are more."""
LONGEST_HAZARD: Final = 19
TOUCHING: Final = frozenset({"vector", "memory", "flat", "lds"})
"""Units that see a matrix result too early, unless the program waits."""
_WAIT = re.compile(r"(?P<counter>vmcnt|lgkmcnt|expcnt)\((?P<count>\d+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A memory operation that may not have finished."""

    unit: str
    registers: frozenset[int]
    """That it will write."""
    is_store: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A matrix instruction whose result may not be ready."""

    registers: frozenset[int]
    passes: int
    is_fast: bool
    """It runs on the XDL unit, unlike those of float32; these need one wait state less."""
    age: int
    """Wait states since it was issued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is in flight in a wave."""

    vector: tuple[Pending, ...] = ()
    """Counted by vmcnt, oldest first."""
    scalar: tuple[Pending, ...] = ()
    """Counted by lgkmcnt: LDS in order, scalar loads in any order."""
    matrix: tuple[Matrix, ...] = ()
    undefined: frozenset[int] = frozenset()


@dataclass(slots=True)
class Paths:
    """The states of all waves of a batch, and what was found on the way."""

    layout: Layout
    report: Report
    kernel_has_many_waves: bool
    _states: list[State] = field(default_factory=list)
    _numbers: dict[State, int] = field(default_factory=dict)
    _steps: dict[tuple[int, int], int] = field(default_factory=dict)
    _effects: dict[int, Effects] = field(default_factory=dict)

    def number(self, state: State) -> int:
        """Return a small number that stands for ``state``."""
        known = self._numbers.get(state)
        if known is None:
            known = self._numbers[state] = len(self._states)
            self._states.append(state)
        return known

    def follow(self, block: Block, waves: Waves, states: np.ndarray) -> None:
        """Let ``waves`` go through ``block``; ``states`` [row] holds the number of each."""
        mine = states[waves.rows]
        first = int(mine[0])
        if (mine == first).all():
            states[waves.rows] = self._step(block, first)
            return
        for number in np.unique(mine):
            states[waves.indices[mine == number]] = self._step(block, int(number))

    def _step(self, block: Block, number: int) -> int:
        key = block.address, number
        known = self._steps.get(key)
        if known is None:
            state = self._states[number]
            for decoded in block.decoded:
                state = self._pass(decoded, state)
            known = self._steps[key] = self.number(state)
        return known

    def _pass(self, decoded: Decoded, state: State) -> State:
        name = decoded.name
        if name == "s_waitcnt":
            return _age(wait(state, decoded.instruction.operands), 1)
        if name == "s_nop":
            return _age(state, int(decoded.operands[0].value) + 1)
        if name == "s_barrier":
            self._check_barrier(decoded, state)
            return _age(state, 1)
        address = decoded.instruction.address
        effects = self._effects.get(address)
        if effects is None:
            effects = self._effects[address] = effects_of(decoded, self.layout)
        self._check_waits(decoded, effects, state)
        self._check_undefined(decoded, effects, state)
        shape = parse_shape(name)
        if state.matrix:
            self._check_matrix(decoded, effects, shape, state)
        return advance(state, effects, shape)

    def _check_waits(self, decoded: Decoded, effects: Effects, state: State) -> None:
        for counter, queue in (("vmcnt", state.vector), ("lgkmcnt", state.scalar)):
            for pending in queue:
                for verb, registers in (("reads", effects.reads), ("writes", effects.writes)):
                    early = pending.registers & registers
                    if early and not _is_in_order(pending, effects, verb):
                        self.report(
                            "missing-wait", decoded,
                            f"{verb} {register_name(min(early), self.layout)} before a load"
                            f" into it was waited for with {counter}",
                        )  # fmt: skip
                        return

    def _check_barrier(self, decoded: Decoded, state: State) -> None:
        late = any(item.unit == "lds" and item.is_store for item in state.scalar)
        if late and self.kernel_has_many_waves:
            self.report(
                "missing-wait", decoded,
                "a barrier before an earlier write to LDS was waited for with lgkmcnt",
            )  # fmt: skip

    def _check_undefined(self, decoded: Decoded, effects: Effects, state: State) -> None:
        for what, registers in (("an address", effects.addresses), ("data", effects.data)):
            if missing := registers & state.undefined:
                self.report(
                    "uninitialised-register", decoded,
                    f"{register_name(min(missing), self.layout)} was never written, and is {what}",
                )  # fmt: skip
                return

    def _check_matrix(
        self, decoded: Decoded, effects: Effects, shape: Shape | None, state: State
    ) -> None:
        for earlier in state.matrix:
            needed = needed_wait_states(earlier, decoded, effects, shape, self.layout)
            if earlier.age < needed:
                touched = earlier.registers & (effects.reads | effects.writes)
                self.report(
                    "mfma-hazard", decoded,
                    f"{register_name(min(touched), self.layout)} is touched {earlier.age} wait"
                    f" states after the matrix instruction that writes it; {needed} are needed",
                )  # fmt: skip
                return


def _is_in_order(pending: Pending, effects: Effects, verb: str) -> bool:
    """Say whether hardware itself keeps the order: loads of one kind return as they were issued."""
    return verb == "writes" and pending.unit == effects.unit and pending.unit in {"lds", "memory"}


def register_name(number: int, layout: Layout) -> str:
    """Return ``v3``, ``a0`` or ``s4``."""
    if number >= SCALARS_FROM:
        return f"s{number - SCALARS_FROM}"
    if number >= layout.accumulators:
        return f"a{number - layout.accumulators}"
    return f"v{number}"


def wait(state: State, operands: str) -> State:
    """Return ``state`` after an ``s_waitcnt``. Counters that are not named are not waited for."""
    limits = {match["counter"]: int(match["count"]) for match in _WAIT.finditer(operands)}
    if operands.strip() == "0":
        limits = {"vmcnt": 0, "lgkmcnt": 0}
    vector, scalar = state.vector, state.scalar
    if "vmcnt" in limits:
        vector = _newest(vector, limits["vmcnt"])
    # Scalar loads return in any order: only an empty queue tells that one is done.
    count = limits.get("lgkmcnt", MOST_VECTOR)
    if count == 0 or not any(item.unit == "smem" for item in scalar):
        scalar = _newest(scalar, count)
    return replace(
        state, vector=_without_flat(vector, scalar), scalar=_without_flat(scalar, vector)
    )


def _without_flat(queue: tuple[Pending, ...], other: tuple[Pending, ...]) -> tuple[Pending, ...]:
    """Forget what flat loads write when they left the other queue: either counter tells."""
    return tuple(
        replace(item, registers=frozenset()) if item.unit == "flat" and item not in other else item
        for item in queue
    )


def _newest(queue: tuple[Pending, ...], count: int) -> tuple[Pending, ...]:
    return queue[max(len(queue) - count, 0) :]


def _age(state: State, steps: int) -> State:
    if not state.matrix:
        return state
    older = (replace(item, age=item.age + steps) for item in state.matrix)
    return replace(state, matrix=tuple(item for item in older if item.age < LONGEST_HAZARD))


def advance(state: State, effects: Effects, shape: Shape | None) -> State:
    """Return the state after an instruction that neither waits nor idles."""
    undefined = state.undefined
    if effects.writes:
        undefined = _undefined_after(undefined, effects)
    state = _age(replace(state, undefined=undefined), 1)
    if shape is not None:
        new = Matrix(registers=effects.writes, passes=passes(shape), is_fast=is_fast(shape), age=0)
        state = replace(state, matrix=(*state.matrix, new))
    unit = effects.unit
    pending = Pending(unit=unit, registers=effects.writes, is_store=effects.is_store)
    if unit in {"memory", "flat"}:
        state = replace(state, vector=(*state.vector, pending)[-MOST_VECTOR:])
    if unit in {"smem", "lds", "flat"}:
        state = replace(state, scalar=(*state.scalar, pending)[-MOST_SCALAR:])
    return state


def _undefined_after(undefined: frozenset[int], effects: Effects) -> frozenset[int]:
    """Return the undefined registers after an instruction."""
    if not effects.spreads or not (effects.reads - effects.kept) & undefined:
        return undefined - effects.writes
    after = undefined | effects.writes
    if effects.low_reads is not None and not effects.low_reads & undefined:
        # Compilers compute 32 bits with instructions of 64, and ignore the rest.
        after -= {min(effects.writes)}
    return after


def is_fast(shape: Shape) -> bool:
    """Say whether a matrix instruction runs on the XDL unit."""
    return shape.first not in {"f32", "f64"}


def passes(shape: Shape) -> int:
    """Return how many passes of four clocks a matrix instruction takes on gfx942.

    Source: AMD matrix instruction calculator, CDNA3.
    """
    if shape.result == "f64":
        return 8 if shape.rows == 16 else 4
    if shape.blocks > 1:
        return {32: 16, 16: 8, 4: 2}[shape.rows]
    if shape.first == "f32":
        return 16 if shape.rows == 32 else 8
    return 8 if shape.rows == 32 else 4


def needed_wait_states(
    earlier: Matrix, decoded: Decoded, effects: Effects, shape: Shape | None, layout: Layout
) -> int:
    """Return how many wait states must lie between a matrix instruction and this one.

    Source: LLVM's hazard recognizer for gfx940 (facts: a VALU or memory access of the result of
    2 / 4 / 8 / 16 passes needs 5 / 7 / 11 / 19, another accumulation 3 / 5 / 9 / 17).
    """
    fast = int(earlier.is_fast)
    if shape is None:
        is_touched = earlier.registers & (effects.reads | effects.writes)
        return earlier.passes + 2 + fast if is_touched and effects.unit in TOUCHING else 0
    if not earlier.registers & effects.reads:
        return 0
    multiplied = frozenset[int]().union(
        *(registers_of(operand, layout) for operand in decoded.operands[1:3])
    )
    if earlier.registers & multiplied:
        return earlier.passes + 2 + fast
    # The very same accumulator is handed on inside the unit.
    addend = registers_of(decoded.operands[0 if shape.is_sparse else 3], layout)
    return 0 if earlier.registers == addend else earlier.passes + fast


def initial_undefined(layout: Layout, defined_scalars: int) -> frozenset[int]:
    """Return the registers that hold nothing when a wave begins: all vectors but v0.

    Args:
        layout: of the program's registers.
        defined_scalars: the scalar registers up to here are set up.
    """
    vectors = frozenset(range(1, layout.vectors))
    general = frozenset(range(SCALARS_FROM + defined_scalars, SCALARS_FROM + SCALARS - 26))
    return vectors | general
