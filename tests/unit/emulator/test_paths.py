"""Waits, matrix hazards and undefined registers are found along the way through code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.unit.emulator.bench import Bench

from kernelmill.binary.disassembly import Instruction
from kernelmill.emulator.effects import SCALARS_FROM, effects_of, registers_of
from kernelmill.emulator.operands import parse_operand
from kernelmill.emulator.paths import Paths, State, initial_undefined, wait
from kernelmill.emulator.program import Block, Decoded, End, Layout, decode
from kernelmill.emulator.registers import Waves

if TYPE_CHECKING:
    from kernelmill.emulator.findings import Kind

LAYOUT = Layout(accumulators=96, vectors=128, image=0)


def instructions(text: str) -> tuple[Decoded, ...]:
    """Return instructions from lines, 8 bytes apart."""
    found = []
    for place, line in enumerate(filter(None, map(str.strip, text.splitlines()))):
        mnemonic, _, operands = line.partition(" ")
        item = Instruction(
            address=8 * place, size_bytes=8, mnemonic=mnemonic, operands=operands.strip()
        )
        found.append(decode(item))
    return tuple(found)


def check(text: str, *, undefined: frozenset[int] = frozenset()) -> list[tuple[str, str]]:
    """Return (kind, detail) of what is found in straight code."""
    found: list[tuple[str, str]] = []

    def report(kind: Kind, site: Decoded, detail: str) -> None:
        found.append((kind, f"{site.name}: {detail}"))

    code = instructions(text)
    block = Block(
        address=0, decoded=code, operations=[], end=End(kind="end", following=8 * len(code))
    )
    paths = Paths(LAYOUT, report, kernel_has_many_waves=True)
    states = np.full(2, paths.number(State(undefined=undefined)))
    paths.follow(block, Waves(Bench().batch, np.arange(2)), states)
    return found


LOAD = "global_load_dword v1, v[2:3], off\n"
USE = "v_mov_b32_e32 v4, v1"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        pytest.param(LOAD + "v_add_u32_e32 v4, v1, v5", "reads v1", id="read"),
        pytest.param(LOAD + "v_mov_b32_e32 v1, 0", "writes v1", id="write"),
        pytest.param(LOAD + "s_waitcnt vmcnt(1)\n" + USE, "reads v1", id="too-many"),
        pytest.param(LOAD + "s_waitcnt lgkmcnt(0)\n" + USE, "vmcnt", id="wrong-counter"),
        pytest.param(LOAD + "global_store_dword v[8:9], v1, off", "reads v1", id="store"),
        pytest.param("s_load_dword s4, s[0:1], 0x0\ns_add_u32 s5, s4, s4", "reads s4", id="scalar"),
        pytest.param("ds_read_b64 v[6:7], v1\nv_mov_b32_e32 v2, v7", "reads v7", id="lds"),
        pytest.param("ds_write_b32 v1, v2\ns_barrier", "a barrier before", id="barrier"),
        pytest.param("flat_load_dword v1, v[2:3]\nv_mov_b32_e32 v4, v1", "reads v1", id="flat"),
        pytest.param(
            "s_load_dword s4, s[0:1], 0x0\nds_read_b32 v1, v2\ns_waitcnt lgkmcnt(1)\n"
            "s_mov_b32 s5, s4",
            "reads s4", id="scalar-loads-have-no-order",
        ),
        pytest.param(LOAD + "global_atomic_add v7, v[8:9], v1, off sc0", "reads v1", id="atomic"),
    ],
)  # fmt: skip
def test_a_missing_wait_is_found(text: str, detail: str) -> None:
    ((kind, found),) = check(text)
    assert kind == "missing-wait"
    assert detail in found


@pytest.mark.parametrize(
    "text",
    [
        LOAD + "s_waitcnt vmcnt(0)\nv_add_u32_e32 v4, v1, v5",
        LOAD + "global_load_dword v6, v[2:3], off\ns_waitcnt vmcnt(1)\nv_mov_b32_e32 v4, v1",
        LOAD + "global_store_dword v[2:3], v9, off\ns_waitcnt vmcnt(1)\nv_mov_b32_e32 v4, v1",
        LOAD + "v_add_u32_e32 v4, v5, v6",
        LOAD + LOAD,  # loads of one kind return in order
        "ds_write_b32 v1, v2\ns_waitcnt lgkmcnt(0)\ns_barrier",
        "ds_read_b32 v1, v2\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(1)\nv_mov_b32_e32 v4, v1",
        "flat_load_dword v1, v[2:3]\ns_waitcnt vmcnt(0)\nv_mov_b32_e32 v4, v1",
        "s_load_dword s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s5, s4",
        "global_atomic_add v[2:3], v4, off\nv_mov_b32_e32 v4, 0",
        "global_load_lds_dword v[2:3], off\nv_mov_b32_e32 v2, 0",
        "buffer_load_dword v4, s[8:11], 0 offen lds\nv_mov_b32_e32 v4, 0",
    ],
)
def test_nothing_is_found_when_waits_are_enough(text: str) -> None:
    assert check(text) == []


MFMA = "v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[10:11], v[12:13], v[4:7]\n"
SLOW = "v_mfma_f32_32x32x1_2b_f32 v[32:63], v10, v12, 0\n"


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        pytest.param(MFMA + "v_mov_b32_e32 v1, v4", 7, id="read"),
        pytest.param(MFMA + "s_nop 5\nv_mov_b32_e32 v1, v4", 7, id="almost"),
        pytest.param(MFMA + "v_mov_b32_e32 v7, 0", 7, id="write"),
        pytest.param(MFMA + "global_store_dword v[0:1], v4, off", 7, id="memory"),
        pytest.param(
            MFMA + "v_mfma_f32_16x16x32_fp8_fp8 v[20:23], v[4:5], v[12:13], 0", 7, id="multiplied"
        ),
        pytest.param(
            MFMA + "v_mfma_f32_16x16x32_fp8_fp8 v[6:9], v[10:11], v[12:13], v[6:9]", 5, id="overlap"
        ),
        pytest.param(SLOW + "v_mov_b32_e32 v1, v33", 18, id="float32"),
    ],
)
def test_a_matrix_result_is_touched_too_early(text: str, needed: int) -> None:
    ((kind, detail),) = check(text)
    assert kind == "mfma-hazard"
    assert f"{needed} are needed" in detail


@pytest.mark.parametrize(
    "text",
    [
        MFMA + MFMA,  # the accumulator is handed on
        MFMA + "s_nop 6\nv_mov_b32_e32 v1, v4",
        MFMA + "v_mov_b32_e32 v1, v20\n" * 7 + "v_mov_b32_e32 v1, v4",
        SLOW + "s_nop 15\ns_nop 1\nv_mov_b32_e32 v1, v33",
        MFMA + "v_mov_b32_e32 v1, v20",
    ],
)
def test_nothing_is_found_when_wait_states_are_enough(text: str) -> None:
    assert check(text) == []


UNDEFINED = initial_undefined(LAYOUT, defined_scalars=8)


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("global_load_dword v1, v[2:3], off", "v2 was never written, and is an address"),
        ("s_load_dword s20, s[10:11], 0x0", "s10 was never written, and is an address"),
        ("v_mov_b32_e32 v1, v9\nds_write_b32 v0, v1", "v1 was never written, and is data"),
        ("v_mov_b32_e32 v5, 0\nglobal_load_dword v1, v5, s[12:13]", "s12 was never written"),
        ("buffer_store_dword v3, v0, s[0:3], 0 offen", "v3 was never written, and is data"),
        pytest.param(
            "s_mov_b32 s4, 0\nv_bfi_b32 v2, s4, v5, v0\nds_write_b32 v0, v2",
            "v2 was never written, and is data",
            id="nothing-is-put-in",
        ),
    ],
)
def test_an_undefined_register_is_found_when_it_matters(text: str, detail: str) -> None:
    ((kind, found),) = check(text, undefined=UNDEFINED)
    assert kind == "uninitialised-register"
    assert detail in found


@pytest.mark.parametrize(
    "text",
    [
        "v_mov_b32_e32 v2, v9",  # copied, never used
        "v_mov_b32_e32 v2, 0\nv_mov_b32_e32 v3, 0\nglobal_load_dword v1, v[2:3], off",
        "scratch_store_dword off, v40, off",  # a spill
        "s_or_b64 s[20:21], s[20:21], exec\ns_and_b64 vcc, s[20:21], exec",
        "v_mov_b32_e32 v4, 0\nv_mad_u64_u32 v[2:3], s[30:31], v0, v0, v[4:5]\nds_write_b32 v2, v0",
        pytest.param(
            "s_mov_b32 s4, 0\nv_bfi_b32 v2, s4, v0, v2\nds_write_b32 v0, v2", id="a-part-is-put-in"
        ),
    ],
)
def test_nothing_is_found_when_undefined_registers_do_not_matter(text: str) -> None:
    assert check(text, undefined=UNDEFINED) == []


def test_waits_name_what_they_wait_for() -> None:
    state = State()
    assert wait(state, "0") == state
    assert wait(state, "vmcnt(0) expcnt(0) lgkmcnt(0)") == state


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("v_fmac_f32_e32 v1, v2, v3", {1, 2, 3}, {1}),
        ("v_add_co_u32_e32 v1, vcc, v2, v3", {2, 3}, {1, SCALARS_FROM + 106, SCALARS_FROM + 107}),
        ("v_cmp_lt_u32_e64 s[4:5], v2, 0", {2}, {SCALARS_FROM + 4, SCALARS_FROM + 5}),
        ("ds_read2_b64 v[4:7], v1 offset0:1 offset1:2", {1}, {4, 5, 6, 7}),
        ("ds_add_rtn_u32 v8, v2, v0", {0, 2}, {8}),
        ("ds_add_u32 v2, v0", {0, 2}, set()),
        ("global_atomic_swap v[4:5], v6, off", {4, 5, 6}, set()),
        ("s_cmp_eq_u32 s4, s5", {SCALARS_FROM + 4, SCALARS_FROM + 5}, set()),
        ("v_accvgpr_read_b32 v1, a3", {96 + 3}, {1}),
        ("v_swap_b32 v1, v2", {1, 2}, {1, 2}),
    ],
)
def test_effects_tell_sources_from_results(text: str, reads: set[int], writes: set[int]) -> None:
    (decoded,) = instructions(text)
    effects = effects_of(decoded, LAYOUT)
    assert (set(effects.reads), set(effects.writes)) == (reads, writes)


def test_registers_are_numbered_by_their_file() -> None:
    assert registers_of(parse_operand("s[2:3]"), LAYOUT) == {SCALARS_FROM + 2, SCALARS_FROM + 3}
    assert registers_of(parse_operand("a1"), LAYOUT) == {97}
    assert registers_of(parse_operand("0x10"), LAYOUT) == set()
