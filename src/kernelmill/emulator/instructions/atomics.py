"""Atomic operations on global memory, LDS, and through scalar registers.

Lanes act one after another in the order of wave and lane. Hardware has no fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator import floats
from kernelmill.emulator.access import update
from kernelmill.emulator.arrays import LANES, Array, join, split
from kernelmill.emulator.instructions.lds import STRIDE_64, usable
from kernelmill.emulator.instructions.vector_memory import (
    Space,
    bind_checked,
    bind_global_address,
)
from kernelmill.emulator.observer import Site
from kernelmill.emulator.operands import Operand, number
from kernelmill.emulator.registers import M0, Waves
from kernelmill.emulator.sources import DTYPES, bind_source, vector_index

if TYPE_CHECKING:
    from kernelmill.emulator.program import Decoded, Layout, Operation, Reader
    from kernelmill.emulator.vector import Binder, Compute

NOTHING: Final = Operand(kind="special", text="")


def _increment(old: Array, limit: Array) -> Array:
    result: Array = np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))
    return result


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _halves(value: Array) -> Array:
    return np.ascontiguousarray(value).view(np.float16)


def _add_halves(old: Array, new: Array) -> Array:
    return (_halves(old) + _halves(new)).view(np.uint32)


def round_to_bfloat16(value: Array) -> Array:
    """Round float32 to the upper 16 bits, to nearest even: uint16."""
    bits = value.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(value), quiet, rounded).astype(np.uint16)


def _add_bfloat16(old: Array, new: Array) -> Array:
    parts = []
    for shift in (0, 16):
        pair = [(item >> np.uint32(shift)).astype(np.uint16) for item in (old, new)]
        one, other = ((part.astype(np.uint32) << np.uint32(16)).view(np.float32) for part in pair)
        parts.append(round_to_bfloat16(one + other).astype(np.uint32) << np.uint32(shift))
    return parts[0] | parts[1]


OPERATIONS: Final[dict[str, Compute]] = {
    "swap": lambda _, new: new,
    "add": np.add,
    "sub": np.subtract,
    "rsub": lambda old, new: new - old,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": _increment,
    "dec": _decrement,
    "fmin": floats.minimum,
    "fmax": floats.maximum,
    "pk_f16": _add_halves,
    "pk_bf16": _add_bfloat16,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Atomic:
    """What an atomic does, by name of the operation and type of the memory."""

    operation: str
    kind: str
    compares: bool = False
    """The data begin with the new value, then come the one that memory must hold."""


def _global_table() -> dict[str, Atomic]:
    kinds = {
        "swap": ("swap", "u"), "add": ("add", "u"), "sub": ("sub", "u"), "smin": ("min", "i"),
        "umin": ("min", "u"), "smax": ("max", "i"), "umax": ("max", "u"), "and": ("and", "u"),
        "or": ("or", "u"), "xor": ("xor", "u"), "inc": ("inc", "u"), "dec": ("dec", "u"),
    }  # fmt: skip
    table = {}
    for name, (operation, letter) in kinds.items():
        table[name] = Atomic(operation=operation, kind=f"{letter}32")
        table[f"{name}_x2"] = Atomic(operation=operation, kind=f"{letter}64")
    return table | {
        "cmpswap": Atomic(operation="swap", kind="u32", compares=True),
        "cmpswap_x2": Atomic(operation="swap", kind="u64", compares=True),
        "add_f32": Atomic(operation="add", kind="f32"),
        "add_f64": Atomic(operation="add", kind="f64"),
        "min_f64": Atomic(operation="fmin", kind="f64"),
        "max_f64": Atomic(operation="fmax", kind="f64"),
        "pk_add_f16": Atomic(operation="pk_f16", kind="u32"),
        "pk_add_bf16": Atomic(operation="pk_bf16", kind="u32"),
    }


GLOBAL: Final = _global_table()


def _site(decoded: Decoded, width_bytes: int) -> Site:
    return Site(decoded=decoded, access="atomic", width_bytes=width_bytes)


def returns_old(decoded: Decoded) -> bool:
    """Say whether a vector memory atomic writes a register: gfx942 calls that ``sc0``."""
    return "sc0" in decoded.modifiers or "glc" in decoded.modifiers


def read_data(w: Waves, index: int, kind: str) -> Array:
    """Return registers from ``index`` on as the type of an atomic's memory: [wave, lane]."""
    wide = DTYPES[kind].itemsize == 8
    return (w.wide(index) if wide else w.word(index)).view(DTYPES[kind])


def write_old(w: Waves, index: int, old: Array, lanes: Array) -> None:
    """Write old values (one per active lane, in order) to registers."""
    whole = np.zeros(lanes.shape, old.dtype)
    whole[lanes] = old
    if old.dtype.itemsize == 8:
        w.put_wide(index, whole)
    else:
        w.put(index, whole)


def apply(atomic: Atomic, addresses: Array, value: Array, compare: Array | None) -> Array:
    """Do the atomic at host ``addresses`` [n], one after another; return the old values."""
    if compare is None:
        return update(addresses, value, OPERATIONS[atomic.operation])
    # Both operands travel together, so that each is applied in its own turn.
    pairs = np.empty(value.shape, [("new", value.dtype), ("old", value.dtype)])
    pairs["new"], pairs["old"] = value, compare
    return update(
        addresses,
        value,
        lambda old, pair: np.where(old == pair["old"], pair["new"], old),
        operands=pairs,
    )


def bind_atomic(atomic: Atomic, address: Reader, data: int, target: int | None) -> Operation:
    """Bind an atomic whose host addresses ``address`` gives.

    Args:
        atomic: what is done.
        address: reader of host addresses; an empty array if no lane is active.
        data: register of the operand.
        target: register that takes the old value, if one does.
    """
    step = DTYPES[atomic.kind].itemsize // 4

    def run(w: Waves) -> None:
        addresses = address(w)
        if not addresses.size:
            return
        lanes = w.lanes
        value = read_data(w, data, atomic.kind)[lanes]
        compare = read_data(w, data + step, atomic.kind)[lanes] if atomic.compares else None
        old = apply(atomic, addresses[lanes], value, compare)
        if target is not None:
            write_old(w, target, old, lanes)

    return run


def _bind_global(space: Space, atomic: Atomic) -> Binder:
    def bind(decoded: Decoded, layout: Layout) -> Operation:
        operands = list(decoded.operands)
        target = None
        if returns_old(decoded):
            target = vector_index(operands.pop(0), layout, decoded)
        vector, data, *rest = operands
        scalar = rest[0] if rest else NOTHING
        address = bind_global_address(space, vector, scalar, decoded, layout)
        site = _site(decoded, DTYPES[atomic.kind].itemsize)
        checked = bind_checked(space, address, site)
        return bind_atomic(atomic, checked, vector_index(data, layout, decoded), target)

    return bind


def _lds_table() -> dict[str, Atomic]:
    table = {}
    for width in (32, 64):
        for name in ("add", "sub", "rsub", "inc", "dec", "min", "max"):
            table[f"{name}_u{width}"] = Atomic(operation=name, kind=f"u{width}")
        for name in ("min", "max"):
            table[f"{name}_i{width}"] = Atomic(operation=name, kind=f"i{width}")
            table[f"{name}_f{width}"] = Atomic(operation=f"f{name}", kind=f"f{width}")
        for name in ("and", "or", "xor"):
            table[f"{name}_b{width}"] = Atomic(operation=name, kind=f"u{width}")
        table[f"add_f{width}"] = Atomic(operation="add", kind=f"f{width}")
        table[f"wrxchg_b{width}"] = Atomic(operation="swap", kind=f"u{width}")
    table["pk_add_f16"] = Atomic(operation="pk_f16", kind="u32")
    table["pk_add_bf16"] = Atomic(operation="pk_bf16", kind="u32")
    return table


LDS: Final = _lds_table()


def lds_addresses(w: Waves, site: Site, place: Array) -> tuple[Array, Array]:
    """Return host addresses, and which lanes are active and inside LDS: both [wave, lane]."""
    lanes = usable(w, site, place)
    addresses = place + w.batch.lds_start(w)
    return addresses, np.ones(addresses.shape, np.bool_) if lanes is None else lanes


def _split_returning(name: str) -> tuple[str, bool]:
    """Return ``add_u32`` and whether the name had the ``rtn`` of one that returns."""
    if "_rtn_" in name:
        return name.replace("_rtn_", "_"), True
    return name, False


def _bind_lds(decoded: Decoded, layout: Layout) -> Operation:
    name, returns = _split_returning(decoded.name.removeprefix("ds_"))
    atomic = LDS[name]
    operands = list(decoded.operands)
    target = vector_index(operands.pop(0), layout, decoded) if returns else None
    read = bind_source(operands[0], "u32", layout, decoded)
    data = vector_index(operands[1], layout, decoded)
    offset = number(decoded.modifiers.get("offset", "0"))
    site = _site(decoded, DTYPES[atomic.kind].itemsize)

    def run(w: Waves) -> None:
        addresses, lanes = lds_addresses(w, site, read(w).astype(np.int64) + offset)
        old = apply(atomic, addresses[lanes], read_data(w, data, atomic.kind)[lanes], None)
        if target is not None:
            write_old(w, target, old, lanes)

    return run


def _bind_lds_pair(compute: Compute, kind: str) -> Binder:
    """Bind an LDS atomic of two operands: ``compute`` is (old, first, second) -> new."""
    dtype = DTYPES[kind]

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        operands = list(decoded.operands)
        returns = "_rtn_" in decoded.name
        target = vector_index(operands.pop(0), layout, decoded) if returns else None
        read = bind_source(operands[0], "u32", layout, decoded)
        first, second = (vector_index(operand, layout, decoded) for operand in operands[1:3])
        offset = number(decoded.modifiers.get("offset", "0"))
        site = _site(decoded, dtype.itemsize)

        def run(w: Waves) -> None:
            place = read(w).astype(np.int64) + offset
            addresses, lanes = lds_addresses(w, site, place)
            values = [read_data(w, index, kind)[lanes] for index in (first, second)]
            pairs = np.empty(values[0].shape, [("first", dtype), ("second", dtype)])
            pairs["first"], pairs["second"] = values
            old = update(
                addresses[lanes],
                values[0],
                lambda old, pair: compute(old, pair["first"], pair["second"]),
                operands=pairs,
            )
            if target is not None:
                write_old(w, target, old, lanes)

        return run

    return bind


def _bind_exchange_two(width: int, stride: int) -> Binder:
    """Bind ``ds_wrxchg2``: two exchanges, at two offsets."""
    kind, words = f"u{width}", width // 32

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        target = vector_index(decoded.operands[0], layout, decoded)
        read = bind_source(decoded.operands[1], "u32", layout, decoded)
        data = [vector_index(operand, layout, decoded) for operand in decoded.operands[2:4]]
        offsets = [
            number(decoded.modifiers.get(f"offset{i}", "0")) * width // 8 * stride for i in (0, 1)
        ]

        site = _site(decoded, width // 8)

        def run(w: Waves) -> None:
            base = read(w).astype(np.int64)
            values = [read_data(w, index, kind).copy() for index in data]
            for i, offset in enumerate(offsets):
                addresses, lanes = lds_addresses(w, site, base + offset)
                old = update(addresses[lanes], values[i][lanes], OPERATIONS["swap"])
                write_old(w, target + i * words, old, lanes)

        return run

    return bind


def _bind_append(sign: int) -> Binder:
    """Bind ``ds_append`` and ``ds_consume``: count the active lanes of each wave at M0."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        target = vector_index(decoded.operands[0], layout, decoded)
        offset = number(decoded.modifiers.get("offset", "0"))

        def run(w: Waves) -> None:
            base = (w.scalar(M0) >> np.uint32(16)).astype(np.int64) + offset
            addresses = base + w.batch.lds_start(w)[:, 0]
            count = np.bitwise_count(w.exec).astype(np.uint32)
            amount = count if sign > 0 else np.negative(count)
            old = update(addresses, amount, OPERATIONS["add"])
            w.put(target, np.broadcast_to(old[:, None], (w.count, LANES)))

        return run

    return bind


def _wrap(old: Array, first: Array, second: Array) -> Array:
    return np.where(old >= first, old - first, old + second)


def _masked_or(old: Array, mask: Array, value: Array) -> Array:
    return (old & ~mask) | value


def _compare_store(old: Array, wanted: Array, new: Array) -> Array:
    return np.where(old == wanted, new, old)


def _exchange_conditionally(old: Array, new: Array) -> Array:
    """Replace each half of 64 bits whose new value has the top bit set, without that bit."""
    sign = np.uint32(0x8000_0000)
    before, after = split(old), split(new)
    chosen = np.where(after & sign, after & ~sign, before)
    return join(chosen[..., 0], chosen[..., 1])


def _bind_conditional_exchange(decoded: Decoded, layout: Layout) -> Operation:
    target, place, data = decoded.operands
    read = bind_source(place, "u32", layout, decoded)
    indices = vector_index(target, layout, decoded), vector_index(data, layout, decoded)
    offset = number(decoded.modifiers.get("offset", "0"))
    site = _site(decoded, 8)

    def run(w: Waves) -> None:
        addresses, lanes = lds_addresses(w, site, read(w).astype(np.int64) + offset)
        value = read_data(w, indices[1], "u64")[lanes]
        write_old(w, indices[0], update(addresses[lanes], value, _exchange_conditionally), lanes)

    return run


def _lds_pairs() -> dict[str, Binder]:
    binders: dict[str, Binder] = {"ds_wrap_rtn_b32": _bind_lds_pair(_wrap, "u32")}
    for width in (32, 64):
        for returning in ("", "rtn_"):
            binders |= {
                f"ds_cmpst_{returning}b{width}": _bind_lds_pair(_compare_store, f"u{width}"),
                f"ds_cmpst_{returning}f{width}": _bind_lds_pair(_compare_store, f"f{width}"),
                f"ds_mskor_{returning}b{width}": _bind_lds_pair(_masked_or, f"u{width}"),
            }
        for suffix, stride in (("", 1), ("st64", STRIDE_64)):
            name = f"ds_wrxchg2{suffix}_rtn_b{width}"
            binders[name] = _bind_exchange_two(width, stride)
    return binders


def _with_return(name: str) -> str:
    """Return ``add_rtn_u32`` for ``add_u32``."""
    stem, _, kind = name.rpartition("_")
    return f"{stem}_rtn_{kind}"


_SPACES: Final[tuple[Space, ...]] = ("global", "flat")
BINDERS: Final[dict[str, Binder]] = {
    **{
        f"{space}_atomic_{name}": _bind_global(space, atomic)
        for space in _SPACES
        for name, atomic in GLOBAL.items()
    },
    **{f"ds_{name}": _bind_lds for name in LDS if not name.startswith("wrxchg")},
    **{f"ds_{_with_return(name)}": _bind_lds for name in LDS},
    **_lds_pairs(),
    "ds_condxchg32_rtn_b64": _bind_conditional_exchange,
    "ds_append": _bind_append(1),
    "ds_consume": _bind_append(-1),
}
