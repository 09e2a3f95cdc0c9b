"""Matrix instructions multiply what their lane layouts say, element by element.

The reference places every element of A, B and D by the formulas of AMD's matrix instruction
calculator (CDNA3), lane by lane, and multiplies whole numbers, so that the results are exact.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest
from tests.unit.emulator.bench import LANES, WAVES, Bench

from kernelmill.emulator.flops import flops_of
from kernelmill.emulator.fp8 import E4M3FNUZ, E5M2FNUZ
from kernelmill.emulator.instructions.mfma import DENSE, SPARSE, Shape, parse_shape
from kernelmill.emulator.paths import passes

A_AT, B_AT, D_AT, C_AT, INDEX_AT = 10, 20, 32, 64, 30
DTYPES: Final = {"f16": "f2", "f32": "f4", "xf32": "f4", "f64": "f8", "i8": "i1"}
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def encode(values: Values, kind: str) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Return small whole numbers as elements of a type."""
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    if kind in {"fp8", "bf8"}:
        form = E4M3FNUZ if kind == "fp8" else E5M2FNUZ
        return form.encode(values.astype(np.float32), saturates=False)
    return values.astype(DTYPES[kind])


def shape_of(name: str) -> Shape:
    shape = parse_shape(name)
    assert shape is not None
    return shape


def lane_and_place(shape: Shape, block: int, row: int, k: int, per_lane: int) -> tuple[int, int]:
    """Return where element (row, k) of A lies: lane, and element of that lane."""
    return (k // per_lane * shape.blocks + block) * shape.rows + row, k % per_lane


def result_place(shape: Shape, block: int, i: int, j: int) -> tuple[int, int]:
    """Return where element (i, j) of D lies: lane, and number (register, or pair for float64)."""
    if shape.result == "f64":
        if shape.rows == 4:
            return j + 4 * block + 16 * i, 0
        return 16 * (i % 4) + j, i // 4
    if shape.rows == 4:
        return 4 * block + j, i
    if shape.rows == 32:
        return 32 * (i // 4 % 2) + j, 16 * block + 4 * (i // 8) + i % 4
    return 16 * (i // 4) + j, 4 * block + i % 4


def operands(shape: Shape, seed: int) -> tuple[Values, Values]:
    """Return A and B: whole numbers, [wave, block, row, k]."""
    random = np.random.default_rng(seed)
    size = (2, WAVES, shape.blocks, shape.rows, shape.depth)
    first, second = random.integers(-4, 5, size).astype(np.float64)
    return first, second


def put_operand(bench: Bench, index: int, values: Values, shape: Shape, kind: str) -> None:
    per_lane = values.shape[-1] // (LANES // shape.rows // shape.blocks)
    lanes = np.zeros((WAVES, LANES, per_lane))
    for block in range(shape.blocks):
        for row in range(shape.rows):
            for k in range(values.shape[-1]):
                lane, place = lane_and_place(shape, block, row, k, per_lane)
                lanes[:, lane, place] = values[:, block, row, k]
    words = np.ascontiguousarray(encode(lanes, kind)).view(np.uint32)
    for place in range(words.shape[-1]):
        bench.put(index + place, words[..., place])


def span(index: int, count: int) -> str:
    return f"v[{index}:{index + count - 1}]" if count > 1 else f"v{index}"


def read_result(bench: Bench, shape: Shape) -> Values:
    """Return D: [wave, block, i, j]."""
    dtype = {"f32": "f4", "i32": "i4", "f64": "f8"}[shape.result]
    step = np.dtype(dtype).itemsize // 4
    found = np.zeros((WAVES, shape.blocks, shape.rows, shape.rows))
    for block in range(shape.blocks):
        for i in range(shape.rows):
            for j in range(shape.rows):
                lane, number = result_place(shape, block, i, j)
                found[:, block, i, j] = bench.get(D_AT + number * step, dtype)[:, lane]
    return found


def registers(shape: Shape, kind: str, depth: int) -> int:
    bits = {"fp8": 8, "bf8": 8, "i8": 8, "f16": 16, "bf16": 16, "f32": 32, "xf32": 32, "f64": 64}
    return shape.rows * depth * shape.blocks * bits[kind] // LANES // 32


@pytest.mark.parametrize("name", DENSE)
def test_dense_product_follows_the_lane_layout(name: str) -> None:
    shape, bench = shape_of(name), Bench()
    a, b = operands(shape, 1)
    put_operand(bench, A_AT, a, shape, shape.first)
    put_operand(bench, B_AT, b, shape, shape.second)
    first, second = (
        span(at, registers(shape, kind, shape.depth))
        for at, kind in ((A_AT, shape.first), (B_AT, shape.second))
    )
    result = span(D_AT, shape.result_registers)
    bench.set_exec(0x1)  # matrix instructions do not look at EXEC
    bench.run(f"{name} {result}, {first}, {second}, 0")
    product = np.einsum("wbik,wbjk->wbij", a, b)
    np.testing.assert_array_equal(read_result(bench, shape), product)
    bench.run(f"{name} {result}, {first}, {second}, {result}")
    np.testing.assert_array_equal(read_result(bench, shape), 2 * product)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_product_puts_two_of_four_where_the_index_says(name: str) -> None:
    shape, bench, random = shape_of(name), Bench(), np.random.default_rng(2)
    kept = random.integers(-4, 5, (WAVES, 1, shape.rows, shape.depth // 2)).astype(np.float64)
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    chosen = pairs[random.integers(0, 6, (WAVES, 1, shape.rows, shape.depth // 4))]
    full = np.zeros((WAVES, 1, shape.rows, shape.depth))
    places = (chosen + 4 * np.arange(shape.depth // 4)[:, None]).reshape(*kept.shape)
    np.put_along_axis(full, places, kept, axis=-1)
    b = random.integers(-4, 5, full.shape).astype(np.float64)
    put_operand(bench, A_AT, kept, shape, shape.first)
    put_operand(bench, B_AT, b, shape, shape.second)
    per_lane = shape.depth // 2 // shape.chunks
    index = np.zeros((WAVES, LANES), np.uint32)
    flat = chosen.reshape(WAVES, shape.rows, -1)
    for row in range(shape.rows):
        for k in range(shape.depth // 2):
            lane, place = lane_and_place(shape, 0, row, k, per_lane)
            index[:, lane] |= flat[:, row, k].astype(np.uint32) << np.uint32(2 * place)
    bench.put(INDEX_AT, index)
    result = span(D_AT, shape.result_registers)
    for place in range(shape.result_registers):
        bench.put(D_AT + place, np.uint32(0))
    first = span(A_AT, registers(shape, shape.first, shape.depth // 2))
    second = span(B_AT, registers(shape, shape.second, shape.depth))
    bench.run(f"{name} {result}, {first}, {second}, v{INDEX_AT}")
    np.testing.assert_array_equal(read_result(bench, shape), np.einsum("wbik,wbjk->wbij", full, b))


def test_a_block_of_a_serves_several_products_when_it_is_broadcast() -> None:
    name = "v_mfma_f32_4x4x1_16b_f32"
    shape, bench = shape_of(name), Bench()
    a, b = operands(shape, 3)
    put_operand(bench, A_AT, a, shape, shape.first)
    put_operand(bench, B_AT, b, shape, shape.second)
    bench.run(f"{name} {span(D_AT, 4)}, v{A_AT}, v{B_AT}, 0 cbsz:2 abid:3")
    shared = a[:, np.arange(16) // 4 * 4 + 3]
    np.testing.assert_array_equal(
        read_result(bench, shape), np.einsum("wbik,wbjk->wbij", shared, b)
    )


def test_an_operand_is_decoded_anew_when_its_registers_change() -> None:
    name, bench = "v_mfma_f32_16x16x32_fp8_fp8", Bench()
    shape = shape_of(name)
    for seed in (4, 5):
        a, b = operands(shape, seed)
        put_operand(bench, A_AT, a, shape, "fp8")
        put_operand(bench, B_AT, b, shape, "fp8")
        bench.run(f"{name} {span(D_AT, 4)}, {span(A_AT, 2)}, {span(B_AT, 2)}, 1.0")
        expected = np.einsum("wbik,wbjk->wbij", a, b) + 1
        np.testing.assert_array_equal(read_result(bench, shape), expected)


@pytest.mark.parametrize(
    ("name", "flops", "clocks"),
    [
        ("v_mfma_f32_32x32x16_fp8_fp8", 32768, 32),
        ("v_mfma_f32_16x16x32_fp8_fp8", 16384, 16),
        ("v_mfma_f32_32x32x8_f16", 16384, 32),
        ("v_mfma_f32_16x16x16_bf16", 8192, 16),
        ("v_mfma_f32_32x32x2_f32", 4096, 64),
        ("v_mfma_f64_16x16x4_f64", 2048, 32),
    ],
)
def test_work_and_passes_are_those_of_the_manual(name: str, flops: int, clocks: int) -> None:
    assert flops_of(name) == flops
    assert passes(shape_of(name)) * 4 == clocks
