"""Which registers an instruction reads and writes, and which counter it waits on.

Registers are numbered: vector registers from 0 (a0 follows the last v), scalar ones from 1024.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.emulator.instructions.mfma import parse_shape
from kernelmill.emulator.instructions.table import VECTORS
from kernelmill.emulator.registers import EXEC, M0, VCC

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelmill.emulator.operands import Operand
    from kernelmill.emulator.program import Decoded, Layout

Unit = Literal["scalar", "vector", "matrix", "smem", "lds", "memory", "flat", "other"]
SCALARS_FROM: Final = 1024

_TWO_RESULTS = re.compile(
    r"v_(?:(?:add|sub|subrev|addc|subb|subbrev)_co_u32|div_scale_f\d+|mad_[ui]64_[ui]32)"
)
_NO_RESULT = re.compile(
    r"s_(?:cmp|bitcmp|setreg|cbranch|branch|waitcnt|nop|barrier|endpgm|setpc|store|trap|sleep"
    r"|set_gpr|sendmsg|setprio|dcache|icache|buffer_store).*"
    r"|(?:global|flat|scratch|buffer|tbuffer)_store_.*|ds_write.*|.*_load_lds_.*|v_nop"
    r"|buffer_(?:wbl2|inv|wbinv).*"
)
_LOW_FIRST = re.compile(
    r"v_(?:mad_[ui]64_[ui]32|lshl_add_u64|lshlrev_b64|mov_b64|pk_(?:fma|mul|add)_f32)"
)
_MASK_LOGIC = re.compile(r"s_(?:and|or|xor|andn2|orn2|nand|nor|xnor|cselect|mov|not|cmov|wqm)_b64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What one instruction does to registers."""

    unit: Unit
    reads: frozenset[int]
    writes: frozenset[int]
    addresses: frozenset[int] = frozenset()
    """Those of ``reads`` that are an address."""
    data: frozenset[int] = frozenset()
    """Those of ``reads`` that go to global memory or LDS."""
    is_store: bool = False
    spreads: bool = True
    """An undefined source makes the result undefined."""
    kept: frozenset[int] = frozenset()
    """Those of ``reads`` that a part is put into: undefined before, they may be defined after."""
    low_reads: frozenset[int] | None = None
    """Of a result of two words: what the low one depends on, if that is not everything."""


def registers_of(operand: Operand, layout: Layout) -> frozenset[int]:
    """Return the numbers of an operand's registers."""
    if operand.kind == "scalar":
        start = SCALARS_FROM + operand.index
    elif operand.kind == "vector":
        start = operand.index
    elif operand.kind == "accumulator":
        start = layout.accumulators + operand.index
    else:
        return frozenset()
    return frozenset(range(start, start + operand.count))


def _all(operands: Iterable[Operand], layout: Layout) -> frozenset[int]:
    return frozenset().union(*(registers_of(operand, layout) for operand in operands))


def _unit(decoded: Decoded) -> Unit:
    name = decoded.name
    if name.startswith("s_"):
        return "smem" if "load" in name or "store" in name or "atomic" in name else "scalar"
    if name.startswith("ds_"):
        return "lds"
    if name.startswith("flat_"):
        return "flat"
    if name.startswith(("global_", "scratch_", "buffer_", "tbuffer_")):
        return "other" if name.startswith(("buffer_inv", "buffer_wb")) else "memory"
    if parse_shape(name) is not None:
        return "matrix"
    return "vector" if name.startswith("v_") else "other"


def result_count(decoded: Decoded) -> int:
    """Return how many of the operands, from the first on, are results."""
    name = decoded.name
    if _NO_RESULT.fullmatch(name):
        return 0
    if "_atomic_" in name:
        return int("sc0" in decoded.modifiers)
    if name.startswith("ds_"):
        is_read = "read" in name or "permute" in name or "swizzle" in name
        return int(is_read or "_rtn_" in name or name in {"ds_append", "ds_consume"})
    return 2 if _TWO_RESULTS.fullmatch(name) else 1


def effects_of(decoded: Decoded, layout: Layout) -> Effects:
    """Return what ``decoded`` reads and writes."""
    unit, count = _unit(decoded), result_count(decoded)
    results, sources = decoded.operands[:count], decoded.operands[count:]
    if "lds" in decoded.modifiers:  # a buffer load that goes to LDS has no register as result
        results, sources = (), decoded.operands
    reads, writes = _all(sources, layout), _all(results, layout)
    reads |= _implicit_reads(decoded, layout)
    writes |= _implicit_writes(decoded, layout)
    if unit in {"memory", "flat", "lds", "smem"}:
        plain = Effects(unit=unit, reads=reads, writes=writes, spreads=False)
        return _with_addresses(plain, decoded, layout, sources)
    low = None
    if _LOW_FIRST.fullmatch(decoded.name):
        low = _all((_low_word(operand) for operand in sources), layout)
    return Effects(
        unit=unit,
        reads=reads,
        writes=writes,
        spreads=_MASK_LOGIC.fullmatch(decoded.name) is None,
        kept=_kept(sources, layout) if decoded.name == "v_bfi_b32" else frozenset(),
        low_reads=low,
    )


def _kept(sources: tuple[Operand, ...], layout: Layout) -> frozenset[int]:
    # A loop over elements fills a register that nobody wrote piece by piece.
    return _all(sources[2:], layout) - _all(sources[:2], layout)


def _low_word(operand: Operand) -> Operand:
    return replace(operand, count=1)


def _implicit_reads(decoded: Decoded, layout: Layout) -> frozenset[int]:
    name, found = decoded.name, frozenset[int]()
    table = VECTORS.get(name)
    if (table and table.keeps) or name.startswith(("v_dot2c", "v_dot4c", "v_dot8c", "v_pk_fmac")):
        found |= registers_of(decoded.operands[0], layout)
    if name.startswith("v_smfmac"):
        found |= registers_of(decoded.operands[0], layout)
    if name == "v_swap_b32":
        found |= _all(decoded.operands, layout)
    if name.startswith("v_div_fmas") or name in {"s_cbranch_vccz", "s_cbranch_vccnz"}:
        found |= _scalars(VCC, VCC + 1)
    if "saveexec" in name or name in {"s_cbranch_execz", "s_cbranch_execnz"}:
        found |= _scalars(EXEC, EXEC + 1)
    if "load_lds" in name or "lds" in decoded.modifiers or "addtid" in name:
        found |= _scalars(M0)
    return found


def _implicit_writes(decoded: Decoded, layout: Layout) -> frozenset[int]:
    name = decoded.name
    if name == "v_swap_b32":
        return _all(decoded.operands, layout)
    if "saveexec" in name or "wrexec" in name or name.startswith("v_cmpx"):
        return _scalars(EXEC, EXEC + 1)
    if name.startswith("s_set_gpr_idx_on"):
        return _scalars(M0)
    return frozenset()


def _scalars(*numbers: int) -> frozenset[int]:
    return frozenset(SCALARS_FROM + number for number in numbers)


def _with_addresses(
    plain: Effects, decoded: Decoded, layout: Layout, sources: tuple[Operand, ...]
) -> Effects:
    """Return the effects of a memory instruction, its sources told apart."""
    name, unit = decoded.name, plain.unit
    is_store = "store" in name or "atomic" in name or not plain.writes
    if unit == "lds":
        is_store = "read" not in name and "permute" not in name and "swizzle" not in name
    if name.startswith("buffer_"):  # the data come first
        data = sources[:1] if is_store else ()
        address = sources[1:] if is_store else sources
    else:
        data = sources[1:2] if is_store else ()
        scalars = tuple(item for item in sources if item.kind == "scalar")
        address = (*sources[:1], *scalars) if unit != "smem" else sources
    # Compilers spill registers that hold nothing, to scratch.
    is_seen = unit != "flat" and not name.startswith("scratch_")
    return replace(
        plain,
        addresses=_all(address, layout),
        data=_all(data, layout) if is_seen else frozenset(),
        is_store=is_store,
    )
