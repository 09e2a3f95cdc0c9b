"""SMEM: loads into scalar registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.access import gather
from kernelmill.emulator.errors import DeviceFault
from kernelmill.emulator.operands import number
from kernelmill.emulator.sources import bind_scalar

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.program import Decoded, Layout, Operation
    from kernelmill.emulator.registers import Waves
    from kernelmill.emulator.vector import Binder

WIDTHS: Final = {"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16}
WORD_BYTES: Final = 4
WIDEST: Final = 4
"""Words that are gathered at once."""


def _bind_load(words: int, *, is_buffer: bool) -> Binder:
    def bind(decoded: Decoded, layout: Layout) -> Operation:
        del layout
        target, base, offset = decoded.operands
        read_base = bind_scalar(base, "u64", decoded)
        fixed = number(decoded.modifiers.get("offset", "0"))
        read_offset = None
        if offset.is_constant:
            fixed += int(offset.value)
        else:
            read_offset = bind_scalar(offset, "u32", decoded)

        def run(w: Waves) -> None:
            address = np.broadcast_to(read_base(w), (w.count,)).astype(np.int64)
            if is_buffer:
                address = address & np.int64(0xFFFF_FFFF_FFFF)
            address = address + fixed
            if read_offset is not None:
                address = address + read_offset(w)
            address &= np.int64(-WORD_BYTES)
            _check(w, decoded, address, words * WORD_BYTES)
            for start in range(0, words, WIDEST):
                size = min(WIDEST, words - start)
                found = gather(address + start * WORD_BYTES, size * WORD_BYTES)
                for place, word in enumerate(found):
                    w.put_scalar(target.index + start + place, word)

        return run

    return bind


def _check(w: Waves, decoded: Decoded, address: Array, size_bytes: int) -> None:
    low, high = int(address.min()), int(address.max())
    memory = w.batch.memory
    if memory.spans(low, high + size_bytes, writing=False):
        return
    wild = ~memory.check(address, size_bytes, writing=False)
    if wild.any():
        first = int(address[wild][0])
        raise DeviceFault(
            f"{decoded}: scalar read of {size_bytes} bytes at {first:#x}"
            " is outside every allocation",
            where=f"workgroup {int(w.batch.workgroups[w.batch.group_of[w.indices[wild][0]]])}",
        )


BINDERS: Final[dict[str, Binder]] = {
    f"s_{prefix}load_{name}": _bind_load(words, is_buffer=bool(prefix))
    for prefix in ("", "buffer_")
    for name, words in WIDTHS.items()
}
