"""What a wave finds when it begins: arguments, the dispatch packet, registers.

Source: https://llvm.org/docs/AMDGPUUsage.html, "Kernel Dispatch" and "Code Object V5 Metadata".
"""

from __future__ import annotations

from math import prod
from struct import Struct
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import ALL_LANES, LANES
from kernelmill.emulator.registers import EXEC_PAIR
from kernelmill.emulator.sources import PRIVATE_APERTURE, SHARED_APERTURE

if TYPE_CHECKING:
    from kernelmill.binary.code_object import Kernel
    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.batch import Batch
    from kernelmill.emulator.launch import Dispatch

PACKET: Final = Struct("<HHHHHHIIIIIQQQQ")
"""The AQL dispatch packet: HSA Runtime Programmer's Reference Manual, section 2.8.3."""
DISPATCH_TYPE: Final = 2
DIMENSIONS: Final = 3
MODE_BIT: Final = 12
"""First bit in compute_pgm_rsrc1 of the modes for rounding and denormal numbers."""
WORKGROUP_NUMBERS: Final = (7, 8, 9)
"""Bits of compute_pgm_rsrc2: the kernel wants the workgroup's x, y, z."""
WORKGROUP_INFO: Final = 10
KERNARG_ALIGNMENT: Final = 16
"""Bytes; the least that a runtime gives the kernel argument segment.

https://llvm.org/docs/AMDGPUUsage.html#kernel-dispatch
"""


def kernel_arguments(dispatch: Dispatch, kernel: Kernel) -> bytes:
    """Return the kernel argument segment, hidden arguments included."""
    # The segment is aligned, and the compiler may read beyond its end as far as that goes.
    segment = bytearray(-(-kernel.kernarg_bytes // KERNARG_ALIGNMENT) * KERNARG_ALIGNMENT)
    explicit = iter(dispatch.arguments)
    hidden = hidden_arguments(dispatch)
    for item in kernel.args:
        if item.value_kind.startswith("hidden_"):
            value = hidden.get(item.value_kind, 0).to_bytes(item.size_bytes, "little")
        else:
            value = next(explicit)
        segment[item.offset : item.offset + item.size_bytes] = value
    return bytes(segment)


def hidden_arguments(dispatch: Dispatch) -> dict[str, int]:
    """Return what the compiler asks of the runtime, by the names of the metadata."""
    values = {
        "hidden_grid_dims": DIMENSIONS,
        "hidden_dynamic_lds_size": dispatch.dynamic_lds_bytes,
        "hidden_private_base": PRIVATE_APERTURE >> 32,
        "hidden_shared_base": SHARED_APERTURE >> 32,
    }
    for axis, groups, items in zip("xyz", dispatch.grid, dispatch.block, strict=True):
        values[f"hidden_block_count_{axis}"] = groups
        values[f"hidden_group_size_{axis}"] = items
        values[f"hidden_remainder_{axis}"] = 0
        values[f"hidden_global_offset_{axis}"] = 0
    return values


def dispatch_packet(dispatch: Dispatch, kernel: Kernel, kernarg: int) -> bytes:
    """Return the packet that a queue would hold; ``kernarg`` is the arguments' address."""
    grid = [groups * items for groups, items in zip(dispatch.grid, dispatch.block, strict=True)]
    lds = kernel.lds_bytes + dispatch.dynamic_lds_bytes
    return PACKET.pack(
        DISPATCH_TYPE, DIMENSIONS, *dispatch.block, 0, *grid, kernel.private_bytes, lds, 0,
        kernarg, 0, 0,
    )  # fmt: skip


def set_up(batch: Batch, dispatch: Dispatch, kernel: Kernel, *, kernarg: int, packet: int) -> None:
    """Write the registers of all waves. ``kernarg`` and ``packet`` are host addresses."""
    registers = batch.registers
    registers.mode[:] = kernel.descriptor.rsrc1 >> MODE_BIT & 0xFF
    registers.vectors[0] = _work_items(batch, dispatch.block)
    left = np.clip(prod(dispatch.block) - batch.wave_of * LANES, 0, LANES).astype(np.uint64)
    partial = (np.uint64(1) << (left & np.uint64(LANES - 1))) - np.uint64(1)
    registers.pairs[EXEC_PAIR] = np.where(left == LANES, ALL_LANES, partial)
    _set_user_scalars(batch, kernel, kernarg, packet)
    place = kernel.descriptor.rsrc2 >> 1 & 0x1F
    x, y, _ = dispatch.grid
    numbers = batch.workgroups[batch.group_of]
    values = (numbers % x, numbers // x % y, numbers // (x * y))
    for bit, value in zip(WORKGROUP_NUMBERS, values, strict=True):
        if kernel.descriptor.rsrc2 >> bit & 1:
            registers.scalars[place >> 1, :, place & 1] = value
            place += 1


def first_free_scalar(kernel: Kernel) -> int:
    """Return the number of the first scalar register that nothing sets up."""
    rsrc2 = kernel.descriptor.rsrc2
    return (rsrc2 >> 1 & 0x1F) + sum(
        rsrc2 >> bit & 1 for bit in (*WORKGROUP_NUMBERS, WORKGROUP_INFO)
    )


def _set_user_scalars(batch: Batch, kernel: Kernel, kernarg: int, packet: int) -> None:
    """Write the pairs that the kernel code properties ask for, in the order of their bits."""
    pairs, place = batch.registers.pairs, 0
    # Private segment buffer, dispatch packet, queue, arguments, dispatch id, flat scratch.
    wanted = ((4, 0), (2, packet), (2, 0), (2, kernarg), (2, 0), (2, 0))
    for bit, (count, value) in enumerate(wanted):
        if kernel.descriptor.properties >> bit & 1:
            pairs[place >> 1] = value
            place += count


def _work_items(batch: Batch, block: tuple[int, int, int]) -> Array:
    """Return v0 of each wave: the work-item's x, y, z, ten bits each."""
    x, y, _ = block
    flat = batch.wave_of[:, None] * LANES + np.arange(LANES)
    packed = flat % x | (flat // x % y) << 10 | (flat // (x * y)) << 20
    return packed.astype(np.uint32)
