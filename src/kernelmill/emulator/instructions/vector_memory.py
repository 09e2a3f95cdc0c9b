"""Global, flat and scratch memory: loads and stores of every width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from kernelmill.emulator.access import gather, scatter
from kernelmill.emulator.errors import DeviceFault
from kernelmill.emulator.observer import Site
from kernelmill.emulator.operands import Operand, number
from kernelmill.emulator.sources import bind_address, bind_scalar, bind_source, vector_index

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.program import Decoded, Layout, Operation, Reader
    from kernelmill.emulator.registers import Waves
    from kernelmill.emulator.vector import Binder

Space = Literal["global", "flat", "scratch"]
HALF: Final = np.uint32(0xFFFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a load or store treats its data."""

    width_bytes: int
    is_signed: bool = False
    half: Literal["", "low", "high"] = ""
    """Which half of the register is meant, for the ``d16`` kinds; the other is left alone."""


LOADS: Final[dict[str, Form]] = {
    "ubyte": Form(width_bytes=1),
    "sbyte": Form(width_bytes=1, is_signed=True),
    "ushort": Form(width_bytes=2),
    "sshort": Form(width_bytes=2, is_signed=True),
    "dword": Form(width_bytes=4),
    "dwordx2": Form(width_bytes=8),
    "dwordx3": Form(width_bytes=12),
    "dwordx4": Form(width_bytes=16),
    "ubyte_d16": Form(width_bytes=1, half="low"),
    "ubyte_d16_hi": Form(width_bytes=1, half="high"),
    "sbyte_d16": Form(width_bytes=1, is_signed=True, half="low"),
    "sbyte_d16_hi": Form(width_bytes=1, is_signed=True, half="high"),
    "short_d16": Form(width_bytes=2, half="low"),
    "short_d16_hi": Form(width_bytes=2, half="high"),
}
STORES: Final[dict[str, Form]] = {
    "byte": Form(width_bytes=1),
    "byte_d16_hi": Form(width_bytes=1, half="high"),
    "short": Form(width_bytes=2),
    "short_d16_hi": Form(width_bytes=2, half="high"),
    "dword": Form(width_bytes=4),
    "dwordx2": Form(width_bytes=8),
    "dwordx3": Form(width_bytes=12),
    "dwordx4": Form(width_bytes=16),
}


def extend(word: Array, form: Form) -> Array:
    """Sign-extend a loaded byte or half."""
    if not form.is_signed:
        return word
    narrow = np.int8 if form.width_bytes == 1 else np.int16
    return word.astype(narrow).astype(np.int32).view(np.uint32)


def merge_half(word: Array, old: Array, form: Form) -> Array:
    """Put a loaded half into its place in ``old``."""
    if form.half == "low":
        return (word & HALF) | (old & ~HALF)
    return (word << np.uint32(16)) | (old & HALF)


def bind_global_address(
    space: Space, vector: Operand, scalar: Operand, decoded: Decoded, layout: Layout
) -> Reader:
    """Return the reader of host addresses: int64 [wave, lane]."""
    offset = np.int64(number(decoded.modifiers.get("offset", "0")))
    if space == "scratch":
        return _bind_scratch_address(vector, scalar, offset, decoded, layout)
    if scalar.text in {"off", ""}:
        read = bind_address(vector, layout, decoded)
        return (lambda w: read(w) + offset) if offset else read
    base = bind_scalar(scalar, "i64", decoded)
    index = bind_source(vector, "u32", layout, decoded)
    return lambda w: index(w).astype(np.int64) + (base(w) + offset)[:, None]


def _bind_scratch_address(
    vector: Operand, scalar: Operand, offset: np.int64, decoded: Decoded, layout: Layout
) -> Reader:
    """Scratch addresses count bytes in the lane's own memory."""
    parts: list[Reader] = []
    if vector.text != "off":
        parts.append(bind_source(vector, "i32", layout, decoded))
    if scalar.text not in {"off", ""}:
        parts.append(bind_source(scalar, "i32", layout, decoded))

    def read(w: Waves) -> Array:
        place = np.full((w.count, 1), offset)
        for part in parts:
            place = place + part(w)
        return place + w.batch.scratch_start(w)

    return read


def bind_checked(space: Space, address: Reader, site: Site) -> Reader:
    """Return a reader of addresses that may be used; an empty array if no lane is active."""
    if space == "global":

        def read_global(w: Waves) -> Array:
            found = w.batch.check_global(w, site, address(w))
            return np.empty(0, np.int64) if found is None else found

        return read_global

    def read(w: Waves) -> Array:
        addresses = address(w)
        if not w.is_full:
            if not w.lanes.any():
                return np.empty(0, np.int64)
            addresses = np.where(w.lanes, addresses, addresses[w.lanes][0])
        if space == "scratch":
            _check_scratch(w, site, addresses)
            return addresses
        host, is_global = w.batch.resolve_flat(w, site, addresses)
        lanes = w.lanes & is_global
        if lanes.any():
            checked = w.batch.check_global(w, site, host, lanes)
            host = host if checked is None else np.where(lanes, checked, host)
        return host

    return read


def _check_scratch(w: Waves, site: Site, addresses: Array) -> None:
    width_bytes = site.width_bytes
    place = addresses - w.batch.scratch_start(w)
    wild = w.lanes & ((place < 0) | (place + width_bytes > w.batch.private_bytes))
    if wild.any():
        first = int(place[wild][0])
        raise DeviceFault(
            f"{site}: {width_bytes} bytes at {first} of scratch memory,"
            f" which has {w.batch.private_bytes}"
        )


def _bind_load(space: Space, form: Form) -> Binder:
    def bind(decoded: Decoded, layout: Layout) -> Operation:
        target, vector, *rest = decoded.operands
        scalar = rest[0] if rest else vector.__class__(kind="special", text="")
        index = vector_index(target, layout, decoded)
        address = bind_global_address(space, vector, scalar, decoded, layout)
        site = Site(decoded=decoded, access="read", width_bytes=form.width_bytes)
        checked = bind_checked(space, address, site)
        return _load(index, checked, form)

    return bind


def _load(index: int, address: Reader, form: Form) -> Operation:
    width = form.width_bytes

    def run(w: Waves) -> None:
        addresses = address(w)
        if not addresses.size:
            return
        found = gather(addresses, width)
        if form.half:
            w.put(index, merge_half(extend(found[0], form), w.word(index), form))
        elif form.is_signed:
            w.put(index, extend(found[0], form))
        else:
            for place, word in enumerate(found):
                w.put(index + place, word)

    return run


def _bind_store(space: Space, form: Form) -> Binder:
    def bind(decoded: Decoded, layout: Layout) -> Operation:
        vector, source, *rest = decoded.operands
        scalar = rest[0] if rest else vector.__class__(kind="special", text="")
        index = vector_index(source, layout, decoded)
        address = bind_global_address(space, vector, scalar, decoded, layout)
        site = Site(decoded=decoded, access="write", width_bytes=form.width_bytes)
        checked = bind_checked(space, address, site)
        return _store(index, checked, form)

    return bind


def _store(index: int, address: Reader, form: Form) -> Operation:
    width, count = form.width_bytes, max(form.width_bytes // 4, 1)
    shift = np.uint32(16 if form.half == "high" else 0)

    def run(w: Waves) -> None:
        addresses = address(w)
        if not addresses.size:
            return
        words = [w.word(index + place) for place in range(count)]
        if shift:
            words = [words[0] >> shift]
        if not w.is_full:
            addresses = addresses[w.lanes]
            words = [word[w.lanes] for word in words]
        scatter(addresses, width, words)

    return run


def _make_binders() -> dict[str, Binder]:
    spaces: tuple[Space, ...] = ("global", "flat", "scratch")
    binders: dict[str, Binder] = {}
    for space in spaces:
        for name, form in LOADS.items():
            binders[f"{space}_load_{name}"] = _bind_load(space, form)
        for name, form in STORES.items():
            binders[f"{space}_store_{name}"] = _bind_store(space, form)
    return binders


BINDERS: Final = _make_binders()
