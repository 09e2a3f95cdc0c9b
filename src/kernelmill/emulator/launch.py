"""Launch a kernel: set up what hardware and runtime set up, and run it batch by batch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

from kernelmill.emulator.arrays import ALL_LANES, LANES, Array
from kernelmill.emulator.batch import Batch
from kernelmill.emulator.blocks import Blocks
from kernelmill.emulator.errors import LaunchError
from kernelmill.emulator.findings import Finding, Findings
from kernelmill.emulator.global_shadow import GlobalShadow
from kernelmill.emulator.image import Image
from kernelmill.emulator.machine import Machine
from kernelmill.emulator.memory import Memory
from kernelmill.emulator.program import Layout
from kernelmill.emulator.registers import EXEC, EXEC_PAIR
from kernelmill.emulator.sanitizer import Sanitizer
from kernelmill.emulator.sources import PRIVATE_APERTURE, SHARED_APERTURE

if TYPE_CHECKING:
    from kernelmill.binary.code_object import CodeObject, Kernel

Dimensions = tuple[int, int, int]

LDS_LIMIT: Final = 64 * 1024
MAX_WORKGROUP: Final = 1024
BATCH_BYTES: Final = 64 << 20
"""Vector registers of one batch. More would not fit the caches, less would not fill the loops."""
STACK_BYTES: Final = 4096
DENORMALS: Final = 16
"""First bit in compute_pgm_rsrc1: all four set, no denormal number is flushed."""
PACKET: Final = Struct("<HHHHHHIIIIIQQQQ")
"""The AQL dispatch packet: HSA Runtime Programmer's Reference Manual, section 2.8.3."""
DISPATCH_TYPE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """One kernel launch."""

    code_object: CodeObject
    kernel: str
    grid: Dimensions
    """In workgroups."""
    block: Dimensions
    """In work-items."""
    dynamic_lds_bytes: int = 0
    arguments: tuple[bytes, ...] = ()
    """The explicit arguments in order. The hidden ones are filled in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchReport:
    """What a launch did."""

    kernel: str
    instructions: int
    """Executed, one for each wave."""
    mnemonics: Mapping[str, int] = field(repr=False)
    """How often each was executed, one for each wave."""
    findings: tuple[Finding, ...]
    """Empty unless the launch was sanitized, or it is clean."""
    seconds: float
    """Of this computer: it says nothing of a GPU."""


@dataclass(slots=True, kw_only=True)
class _Loaded:
    image: Image
    blocks: dict[str, Blocks]


_loaded: WeakKeyDictionary[Memory, dict[int, _Loaded]] = WeakKeyDictionary()


def load(code_object: CodeObject, memory: Memory) -> Image:
    """Return the code object's image in ``memory``: the same one each time."""
    return _load(code_object, memory).image


def _load(code_object: CodeObject, memory: Memory) -> _Loaded:
    images = _loaded.setdefault(memory, {})
    known = images.get(id(code_object))
    if known is None or known.image.code_object is not code_object:
        known = images[id(code_object)] = _Loaded(image=Image(code_object, memory), blocks={})
    return known


def run_dispatch(dispatch: Dispatch, memory: Memory, *, sanitize: bool = False) -> DispatchReport:
    """Run a kernel to its end.

    Args:
        dispatch: what to run.
        memory: every allocation that the kernel may touch.
        sanitize: also look for what hardware would not report; several times slower.

    Raises:
        LaunchError: the launch contradicts the kernel or the device's limits.
        UnsupportedInstruction: the kernel has an instruction that is not emulated.
        DeviceFault: the kernel did what makes a device stop.
    """
    started = time.perf_counter()
    kernel = find_kernel(dispatch)
    check_launch(dispatch, kernel)
    loaded = _load(dispatch.code_object, memory)
    blocks = _blocks(loaded, dispatch.code_object, kernel)
    findings = Findings() if sanitize else None
    before = {block.address: block.waves for block in blocks.built}
    kernarg = memory.allocate(max(kernel.kernarg_bytes, 8), label="kernel arguments")
    packet = memory.allocate(PACKET.size, label="dispatch packet")
    try:
        memory.view(kernarg, kernel.kernarg_bytes)[:] = np.frombuffer(
            kernel_arguments(dispatch, kernel), np.uint8
        )
        memory.view(packet, PACKET.size)[:] = np.frombuffer(
            _packet(dispatch, kernel, kernarg), np.uint8
        )
        _run_batches(dispatch, kernel, blocks, memory, kernarg, packet, findings)
    finally:
        memory.free(kernarg)
        memory.free(packet)
    mnemonics = _count(blocks, before)
    return DispatchReport(
        kernel=kernel.name,
        instructions=sum(mnemonics.values()),
        mnemonics=dict(sorted(mnemonics.items())),
        findings=findings.all if findings else (),
        seconds=time.perf_counter() - started,
    )


def _count(blocks: Blocks, before: Mapping[int, int]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for block in blocks.built:
        waves = block.waves - before.get(block.address, 0)
        if waves:
            for item in block.decoded:
                counted[item.name] += waves
    return counted


def _blocks(loaded: _Loaded, code_object: CodeObject, kernel: Kernel) -> Blocks:
    known = loaded.blocks.get(kernel.name)
    if known is None:
        # compute_pgm_rsrc3: registers before a0; compute_pgm_rsrc1: all registers, in eights.
        accumulators = 4 * ((kernel.descriptor.rsrc3 & 0x3F) + 1)
        total = 8 * ((kernel.descriptor.rsrc1 & 0x3F) + 1)
        layout = Layout(
            accumulators=accumulators,
            vectors=max(total, accumulators, kernel.vgpr_count),
            image=loaded.image.address,
            watches_mode=kernel.descriptor.rsrc1 >> DENORMALS & 0xF != 0xF,
        )
        known = Blocks(code_object, layout)
        known.add(kernel.code_address, kernel.code_size)
        loaded.blocks[kernel.name] = known
    return known


def find_kernel(dispatch: Dispatch) -> Kernel:
    """Return the kernel that ``dispatch`` names."""
    for kernel in dispatch.code_object.kernels:
        if kernel.name == dispatch.kernel:
            return kernel
    names = ", ".join(kernel.name for kernel in dispatch.code_object.kernels)
    raise LaunchError(f"there is no kernel {dispatch.kernel!r}", hint=f"there is: {names}")


def check_launch(dispatch: Dispatch, kernel: Kernel) -> None:
    """Refuse what no device would start.

    Raises:
        LaunchError: says which limit, or which argument.
    """
    items = int(np.prod(dispatch.block))
    lds = kernel.lds_bytes + dispatch.dynamic_lds_bytes
    explicit = [item for item in kernel.args if not item.value_kind.startswith("hidden_")]
    where = kernel.name
    if min(*dispatch.grid, *dispatch.block) < 1:
        raise LaunchError(
            f"grid {dispatch.grid} and block {dispatch.block} must be 1 or more", where=where
        )
    if items > min(kernel.max_workgroup_size, MAX_WORKGROUP):
        raise LaunchError(
            f"{items} work-items in a workgroup, but it was compiled for"
            f" {kernel.max_workgroup_size}",
            where=where,
            hint="set __launch_bounds__",
        )
    if lds > LDS_LIMIT:
        raise LaunchError(f"{lds} bytes of LDS, but there are {LDS_LIMIT}", where=where)
    if len(explicit) != len(dispatch.arguments):
        raise LaunchError(
            f"{len(dispatch.arguments)} arguments, but it takes {len(explicit)}", where=where
        )
    for place, (wanted, given) in enumerate(zip(explicit, dispatch.arguments, strict=True)):
        if len(given) != wanted.size_bytes:
            raise LaunchError(
                f"argument {place} has {len(given)} bytes, want {wanted.size_bytes}", where=where
            )


def kernel_arguments(dispatch: Dispatch, kernel: Kernel) -> bytes:
    """Return the kernel argument segment, hidden arguments included."""
    segment = bytearray(kernel.kernarg_bytes)
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
    """Return what the compiler asks of the runtime, by the names of the metadata.

    Source: https://llvm.org/docs/AMDGPUUsage.html, code object V5 metadata.
    """
    values = {
        "hidden_grid_dims": 3,
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


def _packet(dispatch: Dispatch, kernel: Kernel, kernarg: int) -> bytes:
    grid = [groups * items for groups, items in zip(dispatch.grid, dispatch.block, strict=True)]
    lds = kernel.lds_bytes + dispatch.dynamic_lds_bytes
    return PACKET.pack(
        DISPATCH_TYPE, 3, *dispatch.block, 0, *grid, kernel.private_bytes, lds, 0, kernarg, 0, 0
    )


def _run_batches(
    dispatch: Dispatch,
    kernel: Kernel,
    blocks: Blocks,
    memory: Memory,
    kernarg: int,
    packet: int,
    findings: Findings | None,
) -> None:
    items = int(np.prod(dispatch.block))
    waves = -(-items // LANES)
    per_wave = blocks.layout.vectors * LANES * 4
    size = max(BATCH_BYTES // (per_wave * waves), 1)
    total = int(np.prod(dispatch.grid))
    shadow = GlobalShadow(memory)
    for start in range(0, total, size):
        batch = Batch(
            memory,
            workgroups=np.arange(start, min(start + size, total)),
            waves_per_group=waves,
            vectors=blocks.layout.vectors,
            lds_bytes=kernel.lds_bytes + dispatch.dynamic_lds_bytes,
            private_bytes=private_bytes(kernel),
        )
        _set_up(batch, dispatch, kernel, kernarg, packet)
        if findings is not None:
            sanitizer = Sanitizer(
                batch,
                blocks.layout,
                findings,
                kernel=kernel.name,
                defined_scalars=_first_free_scalar(kernel),
                shadow=shadow,
                source_of=lambda _: "",
                barrier_before=blocks.barrier_before,
            )
            batch.observers = (sanitizer,)
        Machine(blocks, batch, kernel.code_address).run()


def _first_free_scalar(kernel: Kernel) -> int:
    """Return the number of the first scalar register that nothing sets up."""
    rsrc2 = kernel.descriptor.rsrc2
    return (rsrc2 >> 1 & 0x1F) + sum(rsrc2 >> bit & 1 for bit in (7, 8, 9, 10))


def private_bytes(kernel: Kernel) -> int:
    """Return the scratch memory of one lane, with a stack for calls that the compiler lost sight of."""
    return kernel.private_bytes + (STACK_BYTES if kernel.uses_dynamic_stack else 0)


def _set_up(batch: Batch, dispatch: Dispatch, kernel: Kernel, kernarg: int, packet: int) -> None:
    """Write the registers that hold something when a wave begins.

    Source: https://llvm.org/docs/AMDGPUUsage.html#initial-kernel-execution-state.
    """
    registers = batch.registers
    registers.mode[:] = kernel.descriptor.rsrc1 >> 12 & 0xFF
    registers.vectors[0] = _work_items(batch, dispatch.block)
    items = int(np.prod(dispatch.block))
    left = np.clip(items - batch.wave_of * LANES, 0, LANES).astype(np.uint64)
    partial = (np.uint64(1) << (left & np.uint64(63))) - np.uint64(1)
    registers.pairs[EXEC_PAIR] = np.where(left == LANES, ALL_LANES, partial)
    place = _set_user_scalars(batch, kernel, kernarg, packet)
    x, y, _ = dispatch.grid
    numbers = batch.workgroups[batch.group_of]
    for bit, value in ((7, numbers % x), (8, numbers // x % y), (9, numbers // (x * y))):
        if kernel.descriptor.rsrc2 >> bit & 1:
            registers.scalars[place >> 1, :, place & 1] = value
            place += 1


def _set_user_scalars(batch: Batch, kernel: Kernel, kernarg: int, packet: int) -> int:
    """Write the user SGPRs; return the number of the first register after them."""
    pairs, place = batch.registers.pairs, 0
    values = [(0, 4, 0), (1, 2, packet), (2, 2, 0), (3, 2, kernarg), (4, 2, 0), (5, 2, 0)]
    for bit, count, value in values:
        if kernel.descriptor.properties >> bit & 1:
            pairs[place >> 1] = value
            place += count
    assert place < EXEC
    return kernel.descriptor.rsrc2 >> 1 & 0x1F


def _work_items(batch: Batch, block: Dimensions) -> Array:
    """Return v0 of each wave: the work-item's x, y, z, ten bits each."""
    x, y, _ = block
    flat = batch.wave_of[:, None] * LANES + np.arange(LANES)
    packed = flat % x | (flat // x % y) << 10 | (flat // (x * y)) << 20
    return packed.astype(np.uint32)
