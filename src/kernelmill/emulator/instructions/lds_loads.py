"""Loads that go from memory to LDS, past the registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.access import gather
from kernelmill.emulator.arrays import LANES
from kernelmill.emulator.instructions.lds import lds_site, write_lds
from kernelmill.emulator.instructions.vector_memory import (
    LOADS,
    Space,
    bind_checked,
    bind_global_address,
    extend,
)
from kernelmill.emulator.observer import Site
from kernelmill.emulator.operands import number
from kernelmill.emulator.registers import M0

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.program import Decoded, Layout, Operation
    from kernelmill.emulator.registers import Waves
    from kernelmill.emulator.vector import Binder

WIDTHS: Final = ("ubyte", "sbyte", "ushort", "sshort", "dword")
"""What gfx942 can load to LDS; each lane writes a whole word."""
WORD_BYTES: Final = 4
BASE: Final = np.uint32(0xFFFF)


def write_words(w: Waves, decoded: Decoded, words: list[Array]) -> None:
    """Write one word of each lane to LDS, at M0 + offset + 4 * lane."""
    offset = number(decoded.modifiers.get("offset", "0"))
    base = (w.scalar(M0) & BASE).astype(np.int64)[:, None] + offset
    site = lds_site(decoded, "write", WORD_BYTES)
    write_lds(w, site, base + WORD_BYTES * np.arange(LANES), words)


def _bind(space: Space, name: str) -> Binder:
    form = LOADS[name]

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        vector, scalar = decoded.operands
        address = bind_global_address(space, vector, scalar, decoded, layout)
        site = Site(decoded=decoded, access="read", width_bytes=form.width_bytes)
        checked = bind_checked(space, address, site)

        def run(w: Waves) -> None:
            addresses = checked(w)
            if addresses.size:
                found = gather(addresses, form.width_bytes)
                write_words(w, decoded, [extend(word, form) for word in found])

        return run

    return bind


_SPACES: Final[tuple[Space, ...]] = ("global", "scratch")
BINDERS: Final[dict[str, Binder]] = {
    f"{space}_load_lds_{name}": _bind(space, name) for space in _SPACES for name in WIDTHS
}
