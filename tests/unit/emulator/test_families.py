"""Families of instructions."""

from __future__ import annotations

import pytest

from kernelmill.emulator.families import count_families, family_of
from kernelmill.emulator.flops import Operations, integer_operations_of, total_operations


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("v_mfma_f32_16x16x32_fp8_fp8", "Matrix"),
        ("v_accvgpr_read_b32", "Accumulation register moves"),
        ("v_cmp_lt_u32", "Vector compare"),
        ("s_cbranch_scc0", "Branches"),
        ("s_waitcnt", "Barriers, waits and delays"),
        ("s_load_dwordx2", "Scalar memory"),
        ("s_add_u32", "Scalar arithmetic and control"),
        ("buffer_load_dword", "Buffers"),
    ],
)
def test_family_is_the_first_that_matches(name: str, family: str) -> None:
    assert family_of(name) == family


def test_families_are_counted_most_first() -> None:
    counts = count_families({"s_nop": 1, "v_add_f32": 2, "v_mul_f32": 3, "ds_read_b32": 1})
    assert list(counts.items()) == [
        ("Vector arithmetic and moves", 5), ("Barriers, waits and delays", 1), ("LDS", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("v_dot4_i32_i8", 512), ("v_dot8_u32_u4", 1024), ("v_dot2_i32_i16", 256),
        ("v_dot4c_i32_i8", 512), ("v_dot2_f32_f16", 0), ("v_mfma_i32_32x32x16_i8", 32768),
        ("v_mfma_f32_16x16x32_fp8_fp8", 0), ("v_add_u32", 0),
    ],
)  # fmt: skip
def test_integer_operations_are_those_of_products(name: str, operations: int) -> None:
    assert integer_operations_of(name) == operations


def test_operations_are_parted_by_who_does_them() -> None:
    found = total_operations(
        {"v_mfma_f32_16x16x32_fp8_fp8": 2, "v_fma_f32": 3, "v_dot4_i32_i8": 1, "s_nop": 9}
    )
    assert found == Operations(matrix_flops=32768, vector_flops=384, integer=512)
    assert found.flops == 33152
