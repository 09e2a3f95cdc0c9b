from __future__ import annotations

from kernelmill.binary.disassembly import Instruction
from kernelmill.binary.loops import find_hot_loop, kind_of


def program(*texts: str) -> list[Instruction]:
    found = []
    for index, text in enumerate(texts):
        mnemonic, _, operands = text.partition(" ")
        found.append(
            Instruction(address=4 * index, size_bytes=4, mnemonic=mnemonic, operands=operands)
        )
    return found


def back(words: int) -> str:
    """A branch that many instructions back, itself counted."""
    return f"s_cbranch_scc1 {0x10000 - words}"


def test_hot_loop_is_the_innermost_one_with_matrix_instructions() -> None:
    code = program(
        "s_mov_b32 s0",
        "v_add_f32 v0",
        "v_add_f32 v0", "v_add_f32 v0", back(3),  # a loop of three, without
        "ds_read_b128 v1", "v_mfma_f32_16x16x32_fp8_fp8 a0", "s_waitcnt 0", back(4),
        back(8),  # around all of them
        "s_endpgm",
    )  # fmt: skip
    loop = find_hot_loop(code)
    assert loop is not None
    assert (loop.start, loop.instructions, loop.code_bytes) == (20, 4, 16)
    assert loop.mix == {"branch": 1, "lds": 1, "matrix": 1, "wait": 1}


def test_largest_loop_wins_when_none_has_matrix_instructions() -> None:
    code = program("v_add_f32 v0", back(2), "v_add_f32 v0", "global_load_dword v1", back(3))
    loop = find_hot_loop(code)
    assert loop is not None
    assert (loop.start, loop.mix) == (8, {"branch": 1, "memory": 1, "vector": 1})


def test_straight_code_has_no_loop() -> None:
    assert (
        find_hot_loop(program("v_add_f32 v0", "s_cbranch_execz 1", "s_nop 0", "s_endpgm")) is None
    )
    assert find_hot_loop([]) is None


def test_kind_of_an_unknown_instruction_is_other() -> None:
    assert [kind_of(it) for it in ("s_waitcnt", "s_add_u32", "image_load")] == [
        "wait", "scalar", "other",
    ]  # fmt: skip
