"""DS: local data share, and the instructions that move data between lanes through its hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.access import gather, scatter
from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.instructions.vector_memory import Form, extend, merge_half
from kernelmill.emulator.observer import Site, Touch
from kernelmill.emulator.operands import number
from kernelmill.emulator.registers import M0, Waves
from kernelmill.emulator.sources import bind_source, vector_index

if TYPE_CHECKING:
    from kernelmill.emulator.observer import Access
    from kernelmill.emulator.program import Decoded, Layout, Operation, Reader
    from kernelmill.emulator.vector import Binder

READS: Final[dict[str, Form]] = {
    "b32": Form(width_bytes=4),
    "b64": Form(width_bytes=8),
    "b96": Form(width_bytes=12),
    "b128": Form(width_bytes=16),
    "u8": Form(width_bytes=1),
    "i8": Form(width_bytes=1, is_signed=True),
    "u16": Form(width_bytes=2),
    "i16": Form(width_bytes=2, is_signed=True),
    "u8_d16": Form(width_bytes=1, half="low"),
    "u8_d16_hi": Form(width_bytes=1, half="high"),
    "i8_d16": Form(width_bytes=1, is_signed=True, half="low"),
    "i8_d16_hi": Form(width_bytes=1, is_signed=True, half="high"),
    "u16_d16": Form(width_bytes=2, half="low"),
    "u16_d16_hi": Form(width_bytes=2, half="high"),
}
WRITES: Final[dict[str, Form]] = {
    "b8": Form(width_bytes=1),
    "b8_d16_hi": Form(width_bytes=1, half="high"),
    "b16": Form(width_bytes=2),
    "b16_d16_hi": Form(width_bytes=2, half="high"),
    "b32": Form(width_bytes=4),
    "b64": Form(width_bytes=8),
    "b96": Form(width_bytes=12),
    "b128": Form(width_bytes=16),
}
STRIDE_64: Final = 64


def bind_place(decoded: Decoded, layout: Layout, offset: int) -> Reader:
    """Return the reader of byte addresses in LDS: int64 [wave, lane]."""
    read = bind_source(decoded.operands[0], "u32", layout, decoded)
    return lambda w: read(w).astype(np.int64) + offset


def lds_site(decoded: Decoded, access: Access, width_bytes: int) -> Site:
    """Return what observers are told of an LDS instruction."""
    return Site(decoded=decoded, access=access, width_bytes=width_bytes)


def usable(w: Waves, site: Site, place: Array) -> Array | None:
    """Return which active lanes are inside LDS, or ``None`` when all 64 of each wave are.

    Outside, hardware reads 0 and writes nothing.
    """
    limit = w.batch.lds_bytes - site.width_bytes
    is_inside = int(place.max()) <= limit
    if not w.batch.observers:
        return None if w.is_full and is_inside else w.lanes & (place <= limit)
    place = np.broadcast_to(place, (w.count, LANES))
    lanes = w.lanes & (place <= limit)
    wild = w.lanes & ~lanes
    for observer in w.batch.observers:
        if lanes.any():
            observer.on_lds(Touch(waves=w, site=site, addresses=place, lanes=lanes))
        if wild.any():
            observer.on_wild_lds(Touch(waves=w, site=site, addresses=place, lanes=wild))
    return None if w.is_full and is_inside else lanes


def read_lds(w: Waves, site: Site, place: Array) -> list[Array]:
    """Return words from LDS; 0 for lanes that are inactive or out of bounds."""
    lanes = usable(w, site, place)
    if lanes is None:
        return gather(place + w.batch.lds_start(w), site.width_bytes)
    found = gather(np.where(lanes, place, 0) + w.batch.lds_start(w), site.width_bytes)
    return [np.where(lanes, word, np.uint32(0)) for word in found]


def write_lds(w: Waves, site: Site, place: Array, words: list[Array]) -> None:
    """Write words to LDS, for the active lanes that are inside it."""
    lanes = usable(w, site, place)
    addresses = place + w.batch.lds_start(w)
    if lanes is None:
        scatter(addresses, site.width_bytes, words)
    elif lanes.any():
        scatter(addresses[lanes], site.width_bytes, [word[lanes] for word in words])


def _bind_read(form: Form) -> Binder:
    def bind(decoded: Decoded, layout: Layout) -> Operation:
        index = vector_index(decoded.operands[0], layout, decoded)
        offset = number(decoded.modifiers.get("offset", "0"))
        source = bind_source(decoded.operands[1], "u32", layout, decoded)
        site = lds_site(decoded, "read", form.width_bytes)

        def run(w: Waves) -> None:
            found = read_lds(w, site, source(w).astype(np.int64) + offset)
            if form.half:
                w.put(index, merge_half(extend(found[0], form), w.word(index), form))
            elif form.is_signed:
                w.put(index, extend(found[0], form))
            else:
                for number_, word in enumerate(found):
                    w.put(index + number_, word)

        return run

    return bind


def _bind_write(form: Form) -> Binder:
    count = max(form.width_bytes // 4, 1)

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        place = bind_place(decoded, layout, number(decoded.modifiers.get("offset", "0")))
        index = vector_index(decoded.operands[1], layout, decoded)
        site = lds_site(decoded, "write", form.width_bytes)

        def run(w: Waves) -> None:
            words = [w.word(index + part) for part in range(count)]
            if form.half == "high":
                words = [words[0] >> np.uint32(16)]
            write_lds(w, site, place(w), words)

        return run

    return bind


def _offsets(decoded: Decoded, scale: int) -> tuple[int, int]:
    """Return both byte offsets of a ``read2`` or ``write2``."""
    first, second = (number(decoded.modifiers.get(f"offset{i}", "0")) for i in (0, 1))
    return first * scale, second * scale


def _bind_read_two(words: int, stride: int) -> Binder:
    width = 4 * words

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        index = vector_index(decoded.operands[0], layout, decoded)
        source = bind_source(decoded.operands[1], "u32", layout, decoded)
        offsets = _offsets(decoded, width * stride)
        site = lds_site(decoded, "read", width)

        def run(w: Waves) -> None:
            base = source(w).astype(np.int64)
            found = [word for offset in offsets for word in read_lds(w, site, base + offset)]
            for part, word in enumerate(found):
                w.put(index + part, word)

        return run

    return bind


def _bind_write_two(words: int, stride: int) -> Binder:
    width = 4 * words

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        source = bind_source(decoded.operands[0], "u32", layout, decoded)
        indices = [vector_index(operand, layout, decoded) for operand in decoded.operands[1:3]]
        offsets = _offsets(decoded, width * stride)
        site = lds_site(decoded, "write", width)

        def run(w: Waves) -> None:
            base = source(w).astype(np.int64)
            for offset, index in zip(offsets, indices, strict=True):
                values = [w.word(index + part) for part in range(words)]
                write_lds(w, site, base + offset, values)

        return run

    return bind


def _bind_backward_permute(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``ds_bpermute_b32``: each lane reads the value of the lane that it names."""
    index = vector_index(decoded.operands[0], layout, decoded)
    address = bind_source(decoded.operands[1], "u32", layout, decoded)
    data = bind_source(decoded.operands[2], "u32", layout, decoded)
    offset = np.uint32(number(decoded.modifiers.get("offset", "0")))

    def run(w: Waves) -> None:
        source = ((address(w) + offset) >> np.uint32(2)) & np.uint32(LANES - 1)
        source = np.broadcast_to(source, (w.count, LANES)).astype(np.int64)
        values = np.broadcast_to(data(w), (w.count, LANES))
        if not w.is_full:  # an inactive lane gives 0
            values = np.where(w.lanes, values, np.uint32(0))
        w.put(index, np.take_along_axis(values, source, axis=1))

    return run


def _bind_permute(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``ds_permute_b32``: each lane sends its value to a lane; the highest sender wins."""
    index = vector_index(decoded.operands[0], layout, decoded)
    address = bind_source(decoded.operands[1], "u32", layout, decoded)
    data = bind_source(decoded.operands[2], "u32", layout, decoded)
    offset = np.uint32(number(decoded.modifiers.get("offset", "0")))

    def run(w: Waves) -> None:
        target = ((address(w) + offset) >> np.uint32(2)) & np.uint32(LANES - 1)
        result = np.zeros((w.count, LANES), np.uint32)
        wave, lane = np.nonzero(w.lanes)
        to = np.broadcast_to(target, result.shape)[wave, lane]
        result[wave, to] = np.broadcast_to(data(w), result.shape)[wave, lane]
        w.put(index, result)

    return run


def swizzle_lanes(offset: int) -> Array:
    """Return the lane that each of 64 lanes reads in ``ds_swizzle_b32``."""
    lane = np.arange(LANES)
    if offset & 0x8000:  # within groups of four
        order = np.array([offset >> (2 * place) & 3 for place in range(4)])
        result: Array = lane - lane % 4 + order[lane % 4]
        return result
    keep, set_, flip = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return (lane & 32) | (((lane & 31) & keep | set_) ^ flip)


def parse_swizzle(text: str) -> int:
    """Return the 16 bits behind ``swizzle(QUAD_PERM,0,1,2,3)`` or a plain number."""
    if not text.startswith("swizzle("):
        return number(text)
    kind, *rest = (part.strip() for part in text[len("swizzle(") : -1].split(","))
    if kind == "QUAD_PERM":
        return 0x8000 | sum(int(lane) << (2 * place) for place, lane in enumerate(rest))
    if kind == "BITMASK_PERM":
        pattern = rest[0].strip('"')
        keep = set_ = flip = 0
        for letter in pattern:
            keep, set_, flip = keep << 1, set_ << 1, flip << 1
            keep |= letter in "pi"
            set_ |= letter == "1"
            flip |= letter == "i"
        return keep | set_ << 5 | flip << 10
    if kind == "BROADCAST":
        size, lane = map(int, rest)
        return (32 - size) | lane << 5
    size = int(rest[0])
    flip = size if kind == "SWAP" else size - 1  # else REVERSE
    return 31 | flip << 10


def _bind_swizzle(decoded: Decoded, layout: Layout) -> Operation:
    index = vector_index(decoded.operands[0], layout, decoded)
    data = bind_source(decoded.operands[1], "u32", layout, decoded)
    lanes = swizzle_lanes(parse_swizzle(decoded.modifiers.get("offset", "0")))

    def run(w: Waves) -> None:
        values = np.broadcast_to(data(w), (w.count, LANES))
        if not w.is_full:
            values = np.where(w.lanes, values, np.uint32(0))
        w.put(index, values.take(lanes, axis=1))

    return run


def _bind_added_base(form: Form, *, is_read: bool) -> Binder:
    """Bind ``ds_read_addtid_b32`` and its write: LDS at M0 + offset + 4 * lane."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        index = vector_index(decoded.operands[0], layout, decoded)
        offset = number(decoded.modifiers.get("offset", "0"))
        site = lds_site(decoded, "read" if is_read else "write", form.width_bytes)

        def run(w: Waves) -> None:
            base = (w.scalar(M0) & np.uint32(0xFFFF)).astype(np.int64)[:, None]
            place = base + offset + 4 * np.arange(LANES)
            if is_read:
                w.put(index, read_lds(w, site, place)[0])
            else:
                write_lds(w, site, place, [w.word(index)])

        return run

    return bind


BINDERS: Final[dict[str, Binder]] = {
    **{f"ds_read_{name}": _bind_read(form) for name, form in READS.items()},
    **{f"ds_write_{name}": _bind_write(form) for name, form in WRITES.items()},
    **{
        f"ds_read2{suffix}_b{width}": _bind_read_two(width // 32, stride)
        for width in (32, 64)
        for suffix, stride in (("", 1), ("st64", STRIDE_64))
    },
    **{
        f"ds_write2{suffix}_b{width}": _bind_write_two(width // 32, stride)
        for width in (32, 64)
        for suffix, stride in (("", 1), ("st64", STRIDE_64))
    },
    "ds_bpermute_b32": _bind_backward_permute,
    "ds_permute_b32": _bind_permute,
    "ds_swizzle_b32": _bind_swizzle,
    "ds_read_addtid_b32": _bind_added_base(READS["b32"], is_read=True),
    "ds_write_addtid_b32": _bind_added_base(WRITES["b32"], is_read=False),
}
