"""SOPP and the other instructions that steer a wave: branches, barriers, waits, modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.errors import DeviceFault, UnsupportedInstruction
from kernelmill.emulator.instructions.salu import bind_result
from kernelmill.emulator.program import (
    Decoded,
    End,
    EndKind,
    Layout,
    Operation,
    Reader,
    branch_target,
)
from kernelmill.emulator.registers import VCC, Waves
from kernelmill.emulator.sources import bind_scalar

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array

CONDITIONS: Final[dict[str, Reader]] = {
    "scc0": lambda w: ~w.scc,
    "scc1": lambda w: w.scc,
    "vccz": lambda w: w.pair(VCC) == 0,
    "vccnz": lambda w: w.pair(VCC) != 0,
    "execz": lambda w: w.exec == 0,
    "execnz": lambda w: w.exec != 0,
    # Debuggers set these; there is none here.
    "cdbgsys": lambda w: np.zeros(w.count, np.bool_),
    "cdbguser": lambda w: np.zeros(w.count, np.bool_),
    "cdbgsys_or_user": lambda w: np.zeros(w.count, np.bool_),
    "cdbgsys_and_user": lambda w: np.zeros(w.count, np.bool_),
}
NO_EFFECT: Final = frozenset({
    "s_nop", "s_waitcnt", "s_sleep", "s_setprio", "s_icache_inv", "s_dcache_inv", "s_dcache_wb",
    "s_dcache_inv_vol", "s_dcache_wb_vol", "s_incperflevel", "s_decperflevel", "s_ttracedata",
    "s_sethalt", "s_setkill", "s_sendmsg", "s_wakeup", "s_set_valu_coexec_mode", "v_nop",
    "buffer_wbl2", "buffer_wbinvl1", "buffer_wbinvl1_vol", "v_clrexcp",
    "ds_nop", "s_waitcnt_depctr", "s_code_end", "s_sendmsghalt", "s_dcache_discard",
    "s_dcache_discard_x2",
    "s_atc_probe", "s_atc_probe_buffer", "s_set_gpr_idx_off", "s_set_gpr_idx_mode",
})  # fmt: skip
"""Instructions without a result here: order, caches, priorities, traces."""
PLAIN_ENDS: Final[dict[str, EndKind]] = {
    "s_endpgm": "end",
    "s_endpgm_saved": "end",
    "s_endpgm_ordered_ps_done": "end",
    "s_barrier": "barrier",
    "s_branch": "branch",
}
MODE: Final = "HW_REG_MODE"
ROUNDING: Final = np.uint32(15)
"""Bits of MODE: 0 is to nearest even."""


def bind_end(decoded: Decoded) -> End | None:
    """Return how ``decoded`` ends a block, or ``None`` if it does not."""
    name, following = decoded.name, decoded.next_address
    target = branch_target(decoded) or 0
    if name.startswith("s_cbranch_"):
        condition = CONDITIONS.get(name.removeprefix("s_cbranch_"))
        if condition is None:
            raise UnsupportedInstruction(f"{decoded} is not emulated")
        return End(kind="condition", following=following, target=target, condition=condition)
    if name == "s_call_b64":
        link = decoded.operands[0].index
        return End(kind="call", following=following, target=target, link=link)
    if name in {"s_setpc_b64", "s_swappc_b64"}:
        jump = bind_scalar(decoded.operands[-1], "u64", decoded)
        link = decoded.operands[0].index if name == "s_swappc_b64" else -1
        return End(kind="jump", following=following, jump=jump, link=link)
    kind = PLAIN_ENDS.get(name)
    return End(kind=kind, following=following, target=target) if kind else None


def _bind_program_counter(decoded: Decoded, layout: Layout) -> Operation:
    write = bind_result(decoded.operands[0], "u64", decoded)
    address = np.array(layout.image + decoded.next_address, np.uint64)
    return lambda w: write(w, address)


def _bind_trap(decoded: Decoded, layout: Layout) -> Operation:
    del layout

    def run(w: Waves) -> None:
        if (w.exec != 0).any():
            raise DeviceFault(f"{decoded}: the kernel trapped", hint="a device assert or abort")

    return run


def _hardware_register(text: str) -> tuple[str, int, int]:
    """Return name, first bit and bits of ``hwreg(HW_REG_MODE, 4, 2)``."""
    name, *rest = (part.strip() for part in text.removeprefix("hwreg(").rstrip(")").split(","))
    offset, size = map(int, rest) if rest else (0, 32)
    return name, offset, size


def sets_mode(decoded: Decoded) -> bool:
    """Say whether an instruction may change how numbers are computed."""
    return decoded.name.startswith("s_setreg") and MODE in decoded.operands[0].text


def _bind_get_register(decoded: Decoded, layout: Layout) -> Operation:
    del layout
    name, offset, size = _hardware_register(decoded.operands[1].text)
    write = bind_result(decoded.operands[0], "u32", decoded)
    mask = np.uint32((1 << size) - 1)

    def run(w: Waves) -> None:
        write(w, (_read_register(w, name) >> np.uint32(offset)) & mask)

    return run


def _read_register(w: Waves, name: str) -> Array:
    if name == MODE:
        return np.asarray(w.registers.mode[w.rows])
    if name == "HW_REG_HW_ID":
        return w.indices.astype(np.uint32)
    return np.zeros(w.count, np.uint32)


def _bind_set_register(decoded: Decoded, layout: Layout) -> Operation:
    del layout
    name, offset, size = _hardware_register(decoded.operands[0].text)
    read = bind_scalar(decoded.operands[1], "u32", decoded)
    field = np.uint32(((1 << size) - 1) << offset)

    def run(w: Waves) -> None:
        if name == MODE:
            mode = w.registers.mode
            moved = (read(w) << np.uint32(offset)) & field
            mode[w.rows] = (mode[w.rows] & ~field) | moved
            if (mode[w.rows] & ROUNDING).any():
                raise UnsupportedInstruction(f"{decoded}: only rounding to nearest is emulated")

    return run


def _bind_clock(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``s_memtime``: a counter that grows, not a time."""
    del layout
    write = bind_result(decoded.operands[0], "u64", decoded)
    return lambda w: write(w, np.array(w.batch.tick(), np.uint64))


def _bind_acquire(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``buffer_inv``. There are no caches here, but the sanitizer wants to know."""
    del layout
    reaches_device = "sc1" in decoded.modifiers or "sc1" in decoded.instruction.operands

    def run(w: Waves) -> None:
        if reaches_device:
            w.batch.has_acquired[w.rows] = True

    return run


BINDERS: Final = {
    "buffer_inv": _bind_acquire,
    "s_getpc_b64": _bind_program_counter,
    "s_trap": _bind_trap,
    "s_getreg_b32": _bind_get_register,
    "s_setreg_b32": _bind_set_register,
    "s_setreg_imm32_b32": _bind_set_register,
    "s_memtime": _bind_clock,
    "s_memrealtime": _bind_clock,
}
