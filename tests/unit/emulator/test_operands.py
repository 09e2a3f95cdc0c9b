"""Operands and modifiers are read as LLVM prints them."""

from __future__ import annotations

import pytest
from tests.unit.emulator.bench import Bench

from kernelmill.binary.disassembly import Instruction
from kernelmill.emulator.errors import UnsupportedInstruction
from kernelmill.emulator.operands import numbers, parse_operand, split_operands
from kernelmill.emulator.program import branch_target, decode
from kernelmill.emulator.sources import constant_bits


@pytest.mark.parametrize(
    ("text", "kind", "index", "count"),
    [
        ("v3", "vector", 3, 1),
        ("v[4:7]", "vector", 4, 4),
        ("a[0:31]", "accumulator", 0, 32),
        ("s[2:3]", "scalar", 2, 2),
        ("vcc", "scalar", 106, 2),
        ("exec_hi", "scalar", 127, 1),
        ("m0", "scalar", 124, 1),
        ("ttmp3", "scalar", 111, 1),
        ("src_shared_base", "special", 0, 1),
        ("hwreg(HW_REG_MODE, 4, 2)", "text", 0, 1),
    ],
)
def test_registers_have_a_kind_and_a_place(text: str, kind: str, index: int, count: int) -> None:
    operand = parse_operand(text)
    assert (operand.kind, operand.index, operand.count) == (kind, index, count)


@pytest.mark.parametrize(
    ("text", "negated", "absolute", "extended"),
    [
        ("-v3", True, False, False),
        ("|v3|", False, True, False),
        ("-|v3|", True, True, False),
        ("sext(v3)", False, False, True),
        ("neg(v3)", True, False, False),
        ("-sext(v3)", True, False, True),
    ],
)
def test_signs_are_taken_off(text: str, negated: bool, absolute: bool, extended: bool) -> None:
    operand = parse_operand(text)
    assert operand.text == "v3"
    assert (operand.is_negated, operand.is_absolute, operand.is_sign_extended) == (
        negated, absolute, extended,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "bits"),
    [
        ("1.0", "f32", 0x3F800000),
        ("1.0", "f64", 0x3FF0000000000000),
        ("1.0", "f16", 0x3C00),
        ("-0.5", "f32", 0xBF000000),
        ("0.15915494", "f32", 0x3E22F983),
        ("0.15915494309189532", "f64", 0x3FC45F306DC9C882),
        ("1.0", "u32", 0x3F800000),
        ("-1", "u32", 0xFFFFFFFF),
        ("-1", "i64", 0xFFFFFFFFFFFFFFFF),
        ("64", "f64", 64),
        ("0x40080000", "f64", 0x4008000000000000),
        ("0xffffff00", "i64", 0xFFFFFFFFFFFFFF00),
        ("0xffffff00", "u64", 0xFFFFFF00),
        ("0x1234", "u16", 0x1234),
    ],
)
def test_constants_have_the_bits_of_their_operand(text: str, kind: str, bits: int) -> None:
    assert constant_bits(parse_operand(text), kind) == bits


def test_operands_are_split_outside_of_brackets() -> None:
    assert split_operands("v[0:3], v1, s[2:3] offset:16 sc0") == (
        ["v[0:3]", "v1", "s[2:3]"], ["offset:16", "sc0"],
    )  # fmt: skip
    assert split_operands("v3, v10 quad_perm:[3,0,2,1] row_mask:0xf") == (
        ["v3", "v10"], ["quad_perm:[3,0,2,1]", "row_mask:0xf"],
    )  # fmt: skip
    assert split_operands("hwreg(HW_REG_MODE, 4, 2), 3") == (["hwreg(HW_REG_MODE, 4, 2)", "3"], [])
    assert split_operands("") == ([], [])


def test_lists_of_numbers_are_read() -> None:
    assert numbers("[1,0,1]") == (1, 0, 1)
    with pytest.raises(UnsupportedInstruction, match=r"'\[a\]' is not a list of numbers"):
        numbers("[a]")


def instruction(mnemonic: str, operands: str = "") -> Instruction:
    return Instruction(address=0x100, size_bytes=4, mnemonic=mnemonic, operands=operands)


@pytest.mark.parametrize(
    ("mnemonic", "name", "encoding"),
    [
        ("v_add_f32_e32", "v_add_f32", "e32"),
        ("v_cmp_lt_i32_e64", "v_cmp_lt_i32", "e64"),
        ("v_mov_b32_dpp", "v_mov_b32", "dpp"),
        ("v_add_u32_sdwa", "v_add_u32", "sdwa"),
        ("s_add_u32", "s_add_u32", ""),
    ],
)
def test_the_encoding_is_taken_off_a_mnemonic(mnemonic: str, name: str, encoding: str) -> None:
    decoded = decode(instruction(mnemonic, "v0, v1"))
    assert (decoded.name, decoded.encoding) == (name, encoding)


@pytest.mark.parametrize(
    ("text", "target"), [("1", 0x108), ("65535", 0x100), ("65534", 0xFC), ("0", 0x104)]
)
def test_branches_count_words_from_the_next_instruction(text: str, target: int) -> None:
    assert branch_target(decode(instruction("s_branch", text))) == target


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v_unheard_of v1, v2", "the instruction v_unheard_of v1, v2 at 0x100 is not emulated"),
        ("v_add_f32_e32 v1, v2, v200", "'v200' is no register of this kernel"),
        ("v_and_b32_e64 v1, v2, v3 clamp", "clamp is not emulated"),
        ("v_mov_b32_dpp v1, v2 row_xyz:3", "unknown DPP control"),
    ],
)
def test_what_is_not_known_is_refused_with_its_name_and_address(text: str, message: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=message):
        Bench().run(text)
