"""Waves split, meet, wait and end; work-items find what the ABI promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pytest

from kernelmill.binary.disassembly import Instruction
from kernelmill.emulator.batch import Batch
from kernelmill.emulator.errors import Stuck
from kernelmill.emulator.instructions.control import bind_end
from kernelmill.emulator.instructions.table import bind
from kernelmill.emulator.machine import Machine
from kernelmill.emulator.memory import Memory
from kernelmill.emulator.program import Block, End, Layout, decode, find_leaders
from kernelmill.emulator.registers import EXEC_PAIR

LAYOUT: Final = Layout(accumulators=8, vectors=16, image=0)
STEP: Final = 4


@dataclass
class Code:
    """Instructions by address, four bytes apart: what the machine takes for a kernel."""

    layout: Layout
    blocks: dict[int, Block]

    def block(self, address: int) -> Block:
        return self.blocks[address]


def assemble(text: str) -> Code:
    """Return lines as blocks. Branches are written with the number of the line to go to."""
    decoded = []
    for place, line in enumerate(filter(None, map(str.strip, text.splitlines()))):
        mnemonic, _, operands = line.partition(" ")
        if mnemonic.startswith(("s_branch", "s_cbranch")):
            operands = str((int(operands) - place - 1) & 0xFFFF)
        instruction = Instruction(
            address=STEP * place, size_bytes=STEP, mnemonic=mnemonic, operands=operands
        )
        decoded.append(decode(instruction))
    leaders, blocks, start = find_leaders(decoded), {}, 0
    for place, item in enumerate(decoded):
        end = bind_end(item)
        following = item.next_address
        if end is None and following in leaders:
            end = End(kind="next", following=following)
        if end is not None:
            inner = decoded[start : place + (end.kind == "next")]
            operations = [op for op in (bind(one, LAYOUT) for one in inner) if op is not None]
            blocks[STEP * start] = Block(
                address=STEP * start, decoded=tuple(decoded[start : place + 1]),
                operations=operations, end=end,
            )  # fmt: skip
            start = place + 1
    return Code(LAYOUT, blocks)


def run(text: str, *, groups: int = 2, waves: int = 3) -> tuple[Batch, Code]:
    """Run code with v0 holding the row, s0 the wave's number and s1 the workgroup's."""
    batch = Batch(
        Memory(), workgroups=np.arange(groups), waves_per_group=waves, vectors=16, lds_bytes=64,
        private_bytes=0,
    )  # fmt: skip
    registers = batch.registers
    registers.pairs[EXEC_PAIR] = np.uint64(2**64 - 1)
    registers.scalars[0, :, 0] = batch.wave_of
    registers.scalars[0, :, 1] = batch.group_of
    registers.vectors[1:] = 0
    code = assemble(text)
    Machine(code, batch, 0).run()
    return batch, code


def scalars(batch: Batch, index: int) -> list[int]:
    values: list[int] = batch.registers.scalars[index >> 1, :, index & 1].tolist()
    return values


def test_waves_take_their_own_way_and_meet_again() -> None:
    batch, code = run("""
        s_cmp_eq_u32 s0, 1
        s_cbranch_scc1 4
        s_mov_b32 s4, 10
        s_branch 5
        s_mov_b32 s4, 20
        s_add_u32 s4, s4, s0
        s_endpgm
    """)
    assert scalars(batch, 4) == [10, 10, 21, 21, 12, 12]
    last = code.blocks[STEP * 5]
    assert last.waves == 6


def test_loops_run_as_often_as_each_wave_needs() -> None:
    batch, _ = run("""
        s_mov_b32 s4, 0
        s_add_u32 s4, s4, 3
        s_sub_u32 s0, s0, 1
        s_cmp_lt_i32 s0, 0
        s_cbranch_scc0 1
        s_endpgm
    """)
    assert scalars(batch, 4) == [3, 3, 6, 6, 9, 9]


def test_a_barrier_holds_waves_until_all_of_the_workgroup_come() -> None:
    batch, _ = run("""
        v_mov_b32_e32 v1, 0
        v_mov_b32_e32 v2, 7
        s_cmp_eq_u32 s0, 2
        s_cbranch_scc0 5
        ds_write_b32 v1, v2
        s_barrier
        ds_read_b32 v3, v1
        s_endpgm
    """)
    assert (batch.registers.vectors[3] == 7).all(), "the last wave writes, the first reads"


def test_a_barrier_lets_go_when_the_other_waves_have_ended() -> None:
    batch, _ = run("""
        s_mov_b32 s4, 1
        s_cmp_eq_u32 s0, 0
        s_cbranch_scc1 5
        s_barrier
        s_mov_b32 s4, 2
        s_endpgm
    """)
    assert scalars(batch, 4) == [1, 1, 2, 2, 2, 2]


def test_a_spinning_wave_does_not_starve_the_one_it_waits_for() -> None:
    batch, _ = run("""
        v_mov_b32_e32 v1, 0
        s_cmp_eq_u32 s0, 2
        s_cbranch_scc1 9
        ds_read_b32 v3, v1
        v_readfirstlane_b32 s4, v3
        s_cmp_eq_u32 s4, 5
        s_cbranch_scc0 3
        s_mov_b32 s5, 77
        s_endpgm
        v_mov_b32_e32 v2, 5
        ds_write_b32 v1, v2
        s_endpgm
    """)
    assert scalars(batch, 5)[:4] == [77, 77, 77, 77]


@pytest.mark.parametrize(
    ("branch", "value", "is_taken"),
    [
        ("s_cbranch_execz", "s_mov_b64 exec, 0", True),
        ("s_cbranch_execnz", "s_mov_b64 exec, 1", True),
        ("s_cbranch_vccz", "s_mov_b64 vcc, 0", True),
        ("s_cbranch_vccnz", "s_mov_b64 vcc, 0", False),
        ("s_cbranch_scc0", "s_cmp_eq_u32 0, 0", False),
    ],
)
def test_branches_look_at_masks(branch: str, value: str, is_taken: bool) -> None:
    batch, _ = run(f"""
        s_mov_b32 s4, 1
        {value}
        {branch} 4
        s_mov_b32 s4, 2
        s_endpgm
    """)
    assert set(scalars(batch, 4)) == {1 if is_taken else 2}


def test_calls_return_to_where_they_came_from() -> None:
    batch, _ = run("""
        s_getpc_b64 s[6:7]
        s_add_u32 s6, s6, 16
        s_swappc_b64 s[8:9], s[6:7]
        s_add_u32 s4, s4, 1
        s_endpgm
        s_mov_b32 s4, 40
        s_setpc_b64 s[8:9]
    """)
    assert set(scalars(batch, 4)) == {41}


SPIN: Final = """
    s_nop 0
    s_cbranch_scc1 0
    s_endpgm
"""


def test_waves_are_stuck_when_none_ends_for_long() -> None:
    batch = Batch(
        Memory(), workgroups=np.arange(5, 7), waves_per_group=1, vectors=16, lds_bytes=0,
        private_bytes=0, source_of=lambda address: f"spin.hip:{address}",
    )  # fmt: skip
    batch.registers.scc[:] = [False, True]
    with pytest.raises(Stuck) as caught:
        Machine(assemble(SPIN), batch, 0, max_steps=100).run()
    assert str(caught.value).splitlines()[0] == (
        "spin.hip:0 workgroup 6, wave 0: 100 instructions since a wave ended last, now at 0x0:"
        " s_nop 0"
    )


def test_waves_are_not_stuck_when_they_end_one_after_another() -> None:
    waves = 50
    batch = Batch(
        Memory(), workgroups=np.arange(waves), waves_per_group=1, vectors=16, lds_bytes=0,
        private_bytes=0,
    )  # fmt: skip
    lane = np.arange(waves)
    code = assemble("""
        s_branch 2
        s_endpgm
        s_sub_u32 s0, s0, 1
        s_cmp_lg_u32 s0, 0
        s_cbranch_scc0 1
        s_branch 2
    """)
    batch.registers.scalars[0, :, 0] = lane + 1
    Machine(code, batch, 0, max_steps=10).run()
