"""Code objects and kernels that a device has loaded: decoded once, run many times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from kernelmill.emulator.blocks import Blocks
from kernelmill.emulator.image import Image
from kernelmill.emulator.program import Layout

if TYPE_CHECKING:
    from kernelmill.binary.code_object import CodeObject, Kernel
    from kernelmill.emulator.memory import Memory

DENORMALS: Final = 16
"""First bit in compute_pgm_rsrc1: all four set, no denormal number is flushed."""


@dataclass(slots=True, kw_only=True)
class Loaded:
    """One code object in one memory."""

    image: Image
    blocks: dict[str, Blocks]
    """By kernel."""


_loaded: WeakKeyDictionary[Memory, dict[int, Loaded]] = WeakKeyDictionary()


def load(code_object: CodeObject, memory: Memory) -> Loaded:
    """Return the code object in ``memory``: the same one each time, its variables with it."""
    images = _loaded.setdefault(memory, {})
    known = images.get(id(code_object))
    if known is None or known.image.code_object is not code_object:
        known = images[id(code_object)] = Loaded(image=Image(code_object, memory), blocks={})
    return known


def load_kernel(loaded: Loaded, kernel: Kernel) -> Blocks:
    """Return a kernel's code, decoded and bound.

    Raises:
        UnsupportedInstruction: it has an instruction that is not emulated.
    """
    known = loaded.blocks.get(kernel.name)
    if known is None:
        code_object = loaded.image.code_object
        known = Blocks(code_object, _layout(kernel, loaded.image.address))
        known.add(kernel.code_address, kernel.code_size)
        loaded.blocks[kernel.name] = known
    return known


def _layout(kernel: Kernel, image: int) -> Layout:
    # compute_pgm_rsrc3: registers before a0, in fours; compute_pgm_rsrc1: all of them, in eights.
    accumulators = 4 * ((kernel.descriptor.rsrc3 & 0x3F) + 1)
    total = 8 * ((kernel.descriptor.rsrc1 & 0x3F) + 1)
    return Layout(
        accumulators=accumulators,
        vectors=max(total, accumulators, kernel.vgpr_count),
        image=image,
        watches_mode=kernel.descriptor.rsrc1 >> DENORMALS & 0xF != 0xF,
    )
