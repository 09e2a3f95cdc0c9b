"""MUBUF without formats: memory through a resource descriptor, which bounds it.

Source: AMD's "Instinct MI300 Instruction Set Architecture", section 9.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.access import gather, scatter
from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.errors import UnsupportedInstruction
from kernelmill.emulator.instructions.atomics import (
    GLOBAL,
    Atomic,
    apply,
    read_data,
    returns_old,
    write_old,
)
from kernelmill.emulator.instructions.lds_loads import write_words
from kernelmill.emulator.instructions.vector_memory import LOADS, STORES, Form, extend, merge_half
from kernelmill.emulator.observer import Site
from kernelmill.emulator.operands import Operand, number
from kernelmill.emulator.sources import DTYPES, bind_scalar, vector_index

if TYPE_CHECKING:
    from kernelmill.emulator.observer import Access
    from kernelmill.emulator.program import Decoded, Layout, Operation
    from kernelmill.emulator.registers import Waves
    from kernelmill.emulator.vector import Binder

ADDRESS_MASK: Final = np.uint64((1 << 48) - 1)
STRIDE_MASK: Final = np.uint64(0x3FFF)
SWIZZLE: Final = np.uint64(1 << 63)


def _site(decoded: Decoded, access: Access, width_bytes: int) -> Site:
    return Site(decoded=decoded, access=access, width_bytes=width_bytes)


class BufferAddress:
    """The address operands of a buffer instruction: vector, descriptor, scalar offset."""

    def __init__(self, operands: tuple[Operand, ...], site: Site, layout: Layout) -> None:
        vector, resource, offset = operands
        self.site, decoded = site, site.decoded
        self.has_index = "idxen" in decoded.modifiers
        self.has_offset = "offen" in decoded.modifiers
        first = None if vector.text == "off" else vector_index(vector, layout, decoded)
        self.index = first if self.has_index else None
        self.offset = first if not self.has_index else (first or 0) + 1
        self.resource = resource.index
        self.scalar_offset = bind_scalar(offset, "u32", decoded)
        self.fixed = number(decoded.modifiers.get("offset", "0"))

    def __call__(self, w: Waves) -> tuple[Array, Array]:
        """Return host addresses, and which lanes are active and in range: both [wave, lane]."""
        first, second = w.pair(self.resource), w.pair(self.resource + 2)
        if (first & SWIZZLE).any():
            raise UnsupportedInstruction(f"{self.site}: swizzled buffers are not emulated")
        stride = ((first >> np.uint64(48)) & STRIDE_MASK).astype(np.int64)[:, None]
        records = (second & np.uint64(0xFFFF_FFFF)).astype(np.int64)[:, None]
        zero = np.zeros((w.count, LANES), np.int64)
        index = zero if self.index is None else w.word(self.index).astype(np.int64)
        place = zero + self.fixed
        if self.has_offset and self.offset is not None:
            place = place + w.word(self.offset)
        # With a stride, the descriptor counts records; without one, bytes.
        in_bytes = place + self.site.width_bytes <= records
        in_records = (index < records) & (place + self.site.width_bytes <= stride)
        inside = np.where((stride > 0) & self.has_index, in_records, in_bytes)
        base = (first & ADDRESS_MASK).astype(np.int64)[:, None]
        scalar = np.broadcast_to(self.scalar_offset(w), (w.count,)).astype(np.int64)[:, None]
        lanes = w.lanes & inside
        address = base + scalar + index * stride + place
        usable = w.batch.check_global(w, self.site, address, lanes)
        return (address if usable is None else usable), lanes


def _bind_load(form: Form) -> Binder:
    def bind(decoded: Decoded, layout: Layout) -> Operation:
        if "lds" in decoded.modifiers:
            return _bind_load_to_lds(decoded, layout, form)
        index = vector_index(decoded.operands[0], layout, decoded)
        address = BufferAddress(
            decoded.operands[1:4], _site(decoded, "read", form.width_bytes), layout
        )

        def run(w: Waves) -> None:
            addresses, lanes = address(w)
            for place, word in enumerate(_read(addresses, lanes, form)):
                value = merge_half(word, w.word(index), form) if form.half else word
                w.put(index + place, value)

        return run

    return bind


def _read(addresses: Array, lanes: Array, form: Form) -> list[Array]:
    """Return words, 0 where a lane is out of range."""
    if not lanes.any():
        count = max(form.width_bytes // 4, 1)
        return [np.zeros(lanes.shape, np.uint32) for _ in range(count)]
    words = gather(addresses, form.width_bytes)
    return [np.where(lanes, extend(word, form), np.uint32(0)) for word in words]


def _bind_load_to_lds(decoded: Decoded, layout: Layout, form: Form) -> Operation:
    site = _site(decoded, "read", form.width_bytes)
    address = BufferAddress(decoded.operands[:3], site, layout)

    def run(w: Waves) -> None:
        addresses, lanes = address(w)
        write_words(w, decoded, _read(addresses, lanes, form))

    return run


def _bind_store(form: Form) -> Binder:
    count = max(form.width_bytes // 4, 1)

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        index = vector_index(decoded.operands[0], layout, decoded)
        address = BufferAddress(
            decoded.operands[1:4], _site(decoded, "write", form.width_bytes), layout
        )
        shift = np.uint32(16 if form.half == "high" else 0)

        def run(w: Waves) -> None:
            addresses, lanes = address(w)
            if lanes.any():
                words = [w.word(index + place)[lanes] >> shift for place in range(count)]
                scatter(addresses[lanes], form.width_bytes, words)

        return run

    return bind


def _bind_atomic(atomic: Atomic) -> Binder:
    step = DTYPES[atomic.kind].itemsize // 4

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        data = vector_index(decoded.operands[0], layout, decoded)
        address = BufferAddress(decoded.operands[1:4], _site(decoded, "atomic", 4 * step), layout)
        returns = returns_old(decoded)

        def run(w: Waves) -> None:
            addresses, lanes = address(w)
            if not lanes.any():
                return
            value = read_data(w, data, atomic.kind)[lanes]
            compare = read_data(w, data + step, atomic.kind)[lanes] if atomic.compares else None
            old = apply(atomic, addresses[lanes], value, compare)
            if returns:
                write_old(w, data, old, lanes)

        return run

    return bind


BINDERS: Final[dict[str, Binder]] = {
    **{f"buffer_load_{name}": _bind_load(form) for name, form in LOADS.items()},
    **{f"buffer_store_{name}": _bind_store(form) for name, form in STORES.items()},
    **{
        f"buffer_atomic_{name}": _bind_atomic(atomic)
        for name, atomic in GLOBAL.items()
        if name != "pk_add_bf16"  # there is no such instruction
    },
}
