"""What all vector instructions share: sources with DPP, SDWA and op_sel, results with clamp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kernelmill.emulator import floats
from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.dpp import LaneMap, lane_map
from kernelmill.emulator.errors import UnsupportedInstruction
from kernelmill.emulator.operands import Operand, numbers
from kernelmill.emulator.program import Decoded, Layout, Operation, Reader
from kernelmill.emulator.registers import Waves
from kernelmill.emulator.sdwa import bind_merge, bind_selection
from kernelmill.emulator.sources import DTYPES, bind_source, vector_index

Compute = Callable[..., Array]
Writer = Callable[[Waves, Array], None]
Binder = Callable[[Decoded, Layout], Operation]

OMOD: Final = {"mul:2": 2.0, "mul:4": 4.0, "div:2": 0.5}
HALF: Final = np.uint32(0xFFFF)
LOW_HALF: Final = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """What a vector instruction does in each lane."""

    result: str
    sources: tuple[str, ...]
    compute: Compute
    keeps: bool = False
    """The destination is also the last source."""
    keeps_high: bool = False
    """A result of 16 bits leaves the other half of its register; else that becomes 0."""
    saturated: Compute | None = None
    """What to compute instead when an integer instruction has ``clamp``."""


def vop(
    signature: str,
    compute: Compute,
    *,
    keeps: bool = False,
    keeps_high: bool = False,
    saturated: Compute | None = None,
) -> Vector:
    """Return a ``Vector`` from ``"result source source ..."``."""
    result, *sources = signature.split()
    return Vector(
        result=result,
        sources=tuple(sources),
        compute=compute,
        keeps=keeps,
        keeps_high=keeps_high,
        saturated=saturated,
    )


def bind_vector(decoded: Decoded, layout: Layout, semantics: Vector) -> Operation:
    """Bind an instruction that computes one result per lane from values of the same lane."""
    target, *sources = decoded.operands
    kinds = list(semantics.sources)
    if semantics.keeps:
        sources.append(target)
        kinds.append(semantics.result)
    if len(sources) != len(kinds):
        raise UnsupportedInstruction(f"{decoded}: {len(kinds)} sources expected")
    read = bind_sources(decoded, layout, sources, kinds)
    compute = _with_output_modifiers(decoded, semantics)
    if (
        not layout.watches_mode
        and is_plain(decoded)
        and isinstance(compute, np.ufunc)
        and semantics.result[1:] == "32"
    ):
        return _bind_ufunc(compute, read, vector_index(target, layout, decoded), semantics.result)
    write = bind_write(decoded, layout, target, semantics.result, keeps_high=semantics.keeps_high)
    if layout.watches_mode and "f" in semantics.result + "".join(kinds):
        return _bind_flushing(compute, read, write)

    def run(w: Waves) -> None:
        write(w, compute(*[source(w) for source in read]))

    return run


def flushed(w: Waves, value: Array) -> Array:
    """Return a source or result with denormal numbers flushed where MODE says so."""
    if value.dtype.kind != "f":
        return value
    chosen = w.flushes(value.dtype.itemsize * 8)
    return np.where(chosen, floats.flush(value), value) if chosen.any() else value


def _bind_flushing(compute: Compute, read: Sequence[Reader], write: Writer) -> Operation:
    def run(w: Waves) -> None:
        values = [flushed(w, source(w)) for source in read]
        write(w, flushed(w, compute(*values)))

    return run


def is_plain(decoded: Decoded) -> bool:
    """Say whether no modifier moves lanes or selects parts of registers."""
    return decoded.encoding not in {"dpp", "sdwa"} and "op_sel" not in decoded.modifiers


def _bind_ufunc(compute: np.ufunc, read: Sequence[Reader], index: int, kind: str) -> Operation:
    """Bind the commonest case: the result goes straight into its register."""
    dtype = DTYPES[kind]

    def run(w: Waves) -> None:
        values = [source(w) for source in read]
        if w.is_full and w.is_range:
            compute(*values, out=w.word(index).view(dtype))
        else:
            w.put(index, compute(*values))

    return run


def bind_sources(
    decoded: Decoded, layout: Layout, sources: Sequence[Operand], kinds: Sequence[str]
) -> tuple[Reader, ...]:
    """Return the readers of an instruction's sources, its modifiers applied."""
    halves = numbers(decoded.modifiers.get("op_sel", "[0,0,0,0]"))
    if decoded.encoding == "sdwa":
        return tuple(
            bind_selection(decoded, layout, place, operand, kind)
            for place, (operand, kind) in enumerate(zip(sources, kinds, strict=True))
        )
    read = [
        bind_source(operand, kind, layout, decoded, half=half)
        for operand, kind, half in zip(
            sources, kinds, (*halves, 0, 0, 0)[: len(kinds)], strict=True
        )
    ]
    if decoded.encoding == "dpp":
        read[0] = _moved(read[0], lane_map(decoded))
    return tuple(read)


def _moved(read: Reader, lanes: LaneMap) -> Reader:
    """Return a reader of another lane's value; 0 where there is none."""

    def moved(w: Waves) -> Array:
        value = np.broadcast_to(read(w), (w.count, LANES))
        if value.dtype.itemsize == 2:  # halves of words are strided
            value = np.ascontiguousarray(value)
        found = value.take(lanes.source, axis=1)
        usable = lanes.is_valid & w.lanes.take(lanes.source, axis=1)
        return np.where(usable, found, value.dtype.type(0))

    return moved


def _with_output_modifiers(decoded: Decoded, semantics: Vector) -> Compute:
    compute, is_real = semantics.compute, semantics.result[0] == "f"
    clamps = "clamp" in decoded.modifiers
    if clamps and not is_real:
        if semantics.saturated is None:
            raise UnsupportedInstruction(f"{decoded}: clamp is not emulated")
        return semantics.saturated
    for name in ("mul", "div"):
        if name in decoded.modifiers:
            key = f"{name}:{decoded.modifiers[name]}"
            compute = _scaled(compute, DTYPES[semantics.result].type(OMOD[key]))
    return _clamped(compute) if clamps else compute


def _scaled(compute: Compute, factor: np.generic) -> Compute:
    return lambda *values: compute(*values) * factor


def _clamped(compute: Compute) -> Compute:
    def clamped(*values: Array) -> Array:
        result = compute(*values)
        zero, one = result.dtype.type(0), result.dtype.type(1)
        kept: Array = np.fmin(np.fmax(result, zero), one)  # NaN becomes 0, as with DX10_CLAMP
        return kept

    return clamped


def bind_write(
    decoded: Decoded, layout: Layout, target: Operand, kind: str, *, keeps_high: bool = False
) -> Writer:
    """Return what writes a result [wave, lane] to a vector register under EXEC."""
    index, width = vector_index(target, layout, decoded), int(kind[1:])
    if decoded.encoding == "sdwa":
        return bind_merge(decoded, index)
    if width == 16:
        write = _bind_write_half(decoded, index, keeps_high=keeps_high)
    elif width == 64:
        write = _write_wide(index)
    else:
        write = _write_word(index)
    return _masked(write, index, decoded) if decoded.encoding == "dpp" else write


def _write_word(index: int) -> Writer:
    return lambda w, value: w.put(index, value)


def _write_wide(index: int) -> Writer:
    def write(w: Waves, value: Array) -> None:
        w.put_wide(index, np.broadcast_to(value, (w.count, LANES)))

    return write


def _bind_write_half(decoded: Decoded, index: int, *, keeps_high: bool) -> Writer:
    halves = numbers(decoded.modifiers.get("op_sel", "[0]"))
    is_high = len(halves) == len(decoded.operands) and bool(halves[-1])
    keeps = keeps_high or is_high

    def write(w: Waves, value: Array) -> None:
        bits = np.ascontiguousarray(value).view(np.uint16).astype(np.uint32)
        if is_high:
            bits = (bits << np.uint32(16)) | (w.word(index) & HALF)
        elif keeps:
            bits = bits | (w.word(index) & ~HALF)
        w.put(index, bits)

    return write


def _masked(write: Writer, index: int, decoded: Decoded) -> Writer:
    """Return ``write`` for DPP, which leaves some lanes alone beside those of EXEC."""
    lanes = lane_map(decoded)

    def masked(w: Waves, value: Array) -> None:
        allowed = np.broadcast_to(lanes.is_written, (w.count, LANES))
        if not lanes.fills_with_zero:
            allowed = allowed & lanes.is_valid & w.lanes.take(lanes.source, axis=1)
        old = w.word(index).copy()
        write(w, value)
        w.put_lanes(index, old, ~allowed)

    return masked
