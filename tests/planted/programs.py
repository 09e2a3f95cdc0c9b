"""The programs that bugs are planted in: their launches, and what NumPy computes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from tests.integration.emulated_gemm import FNUZ, TILE, TOLERANCE, make_operands
from tests.planted.values import Program, Setup, Struct

if TYPE_CHECKING:
    from tests.planted.values import Array

FOLDER: Final = "tests/planted/kernels"


def gemm(m: int, n: int, k: int, layouts: str) -> Setup:
    """Return a product of the flagship; its strides leave no gaps."""
    operands = make_operands(m, n, k)
    inputs: dict[str, Array] = {}
    fields: list[str | int] = [m, n, k, FNUZ]
    for name, codes, layout in (("a", operands.a, layouts[0]), ("b", operands.b, layouts[1])):
        inputs[name] = codes.T if layout == "k" else codes
        fields += [name, *((1, k) if layout == "k" else (codes.shape[1], 1))]
    for name, scale in (("a_scale", operands.a_scale), ("b_scale", operands.b_scale)):
        inputs[name] = scale
        fields += [name, scale.shape[1], 1]
    bits = (operands.expected.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    problem = Struct(format="<qqqi4xQqqQqqQqqQqqQq", fields=(*fields, "out", n))
    return Setup(
        grid=(-(-m // TILE), -(-n // TILE), 1),
        block=(512, 1, 1),
        arguments=(problem, 0, 0),
        inputs=inputs,
        expected={"out": bits},
        tolerance=2 * TOLERANCE,  # the bits are cut off, not rounded
    )


def reduction() -> Setup:
    """Return five rows: the last workgroup has only one."""
    values = np.random.default_rng(1).integers(-9, 9, (5, 700)).astype(np.float32)
    return Setup(
        grid=(3, 1, 1), block=(256, 1, 1), arguments=("in", "out", *values.shape),
        inputs={"in": values}, expected={"out": values.sum(axis=1)},
    )  # fmt: skip


def transpose() -> Setup:
    """Return a matrix whose rows and columns both end inside a tile."""
    values = np.random.default_rng(2).random((50, 71), dtype=np.float32)
    return Setup(
        grid=(2, 1, 1), block=(32, 8, 1), arguments=("in", "out", *values.shape),
        inputs={"in": values}, expected={"out": np.ascontiguousarray(values.T)},
    )  # fmt: skip


def swizzle() -> Setup:
    """Return a matrix of 2 x 2 tiles."""
    values = np.random.default_rng(3).integers(0, 2**32, (128, 128), dtype=np.uint32)
    return Setup(
        grid=(2, 2, 1), block=(256, 1, 1), arguments=("in", "out", *values.shape),
        inputs={"in": values}, expected={"out": np.ascontiguousarray(values.T)},
        lds_bytes=64 * 64 * 4,
    )  # fmt: skip


def stencil() -> Setup:
    """Return a field that ends inside a tile, both ways."""
    field = np.random.default_rng(4).random((21, 75), dtype=np.float32)
    wide = np.pad(field, 1).astype(np.float64)
    around = wide[1:-1, :-2] + wide[1:-1, 2:] + wide[:-2, 1:-1] + wide[2:, 1:-1]
    return Setup(
        grid=(3, 3, 1), block=(32, 8, 1), arguments=("in", "out", 75, 21),
        inputs={"in": field},
        expected={"out": (0.5 * field + 0.125 * around).astype(np.float32)},
        tolerance=1e-6,
    )  # fmt: skip


def histogram() -> Setup:
    """Return bytes that end inside a turn of the last workgroup; some occur often."""
    values = np.random.default_rng(5).integers(0, 256, 1500, dtype=np.uint8)
    values[::3] = 255
    counts = np.bincount(values, minlength=256).astype(np.uint32)
    return Setup(
        grid=(3, 1, 1), block=(256, 1, 1), arguments=("in", "counts", "ended", values.size),
        inputs={"in": values, "counts": np.zeros(256, np.uint32), "ended": np.zeros(1, np.uint32)},
        expected={"counts": counts, "ended": np.array([3], np.uint32)},
    )  # fmt: skip


def matrix() -> Setup:
    """Return two products of small whole numbers, which are exact."""
    a, b = np.random.default_rng(6).integers(-8, 8, (2, 2, 16, 64)).astype(np.float16)
    products = a.astype(np.float32) @ b.astype(np.float32).transpose(0, 2, 1)
    return Setup(
        grid=(2, 1, 1), block=(256, 1, 1), arguments=("a", "b", "c"),
        inputs={"a": a, "b": b}, expected={"c": products},
    )  # fmt: skip


def scan() -> Setup:
    """Return three rows that are shorter than a workgroup."""
    values = np.random.default_rng(7).integers(-99, 99, (3, 201), dtype=np.int32)
    return Setup(
        grid=(3, 1, 1), block=(256, 1, 1), arguments=("in", "out", 201),
        inputs={"in": values}, expected={"out": np.cumsum(values, axis=1, dtype=np.int32)},
    )  # fmt: skip


PROGRAMS: Final = {
    program.name: program
    for program in (
        Program(
            name="gemm",
            source="examples/gemm/gemm/gemm_gfx942.hip",
            setups={
                "edges": partial(gemm, 140, 20, 136, "kx"),
                "transposed": partial(gemm, 20, 140, 136, "xk"),
                "aligned": partial(gemm, 32, 48, 136, "xx"),
                "nothing to add": partial(gemm, 20, 20, 0, "kk"),
            },
        ),
        *(
            Program(
                name=make.__name__,
                source=f"{FOLDER}/{make.__name__}.hip",
                setups={"default": make},
            )
            for make in (reduction, transpose, swizzle, stencil, histogram, matrix, scan)
        ),
    )
}
