"""The judge of the kernel: the same product in float64, and how far from it a result may be."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

SCALE_BLOCK = 128
FORMATS = {"fn": torch.float8_e4m3fn, "fnuz": torch.float8_e4m3fnuz}
LARGEST = {"fn": 448.0, "fnuz": 240.0}
TILE = 64  # a wrong tile must not hide in a large, otherwise right result

# Rounding to bfloat16 (8 significant bits) alone gives a relative error, root mean square over
# evenly spread significands, of 0.00166; a float32 sum adds less than a hundredth of that.
OVERALL_TOLERANCE = 0.0018
# The same in a tile of at most 64 x 64 = 4096 values. It may be as small as one value, whose
# rounding error is up to 2^-9 = 0.00195 of it, and terms that cancel leave the float32 error of
# larger partial sums: such a tile is judged by SUM_TOLERANCE instead.
TILE_TOLERANCE = 0.0024
# Of a float32 sum of K terms, relative to the product of the norms of its row and its column: above
# the square root of K times 2^-24 for each K tested, far below one missing term (about 1 / K).
SUM_TOLERANCE = 6e-6
# Of rounding to bfloat16, relative to the value.
ROUNDING_TOLERANCE = 2**-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """The inputs of one product."""

    a: Tensor
    b: Tensor
    a_scale: Tensor
    b_scale: Tensor

    def as_tuple(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the inputs in the order in which ``gemm`` takes them."""
        return self.a, self.b, self.a_scale, self.b_scale


Generate = Callable[..., Operands]
"""The fixture ``generate``: ``(m, n, k, fp8, *, a="k", b="k") -> Operands``."""


def scaled_a(operands: Operands) -> Tensor:
    """Return ``a * a_scale``, [K, M], float64, on the CPU."""
    scale = operands.a_scale.cpu().double().repeat_interleave(SCALE_BLOCK, 0)
    return decode(operands.a) * scale[: operands.a.shape[0]]


def scaled_b(operands: Operands) -> Tensor:
    """Return ``b * b_scale``, [K, N], float64, on the CPU."""
    k, n = operands.b.shape
    scale = operands.b_scale.cpu().double()
    scale = scale.repeat_interleave(SCALE_BLOCK, 0).repeat_interleave(SCALE_BLOCK, 1)
    return decode(operands.b) * scale[:k, :n]


def decode(codes: Tensor) -> Tensor:
    """Return the values of FP8 ``codes``, float64, on the CPU."""
    return codes.cpu().double()


def assert_product(out: Tensor, operands: Operands) -> None:
    """Assert that ``out`` is the product of ``operands``: as a whole, per tile and per value."""
    left, right = scaled_a(operands), scaled_b(operands)
    exact = left.t() @ right
    magnitude = left.norm(dim=0)[:, None] * right.norm(dim=0)  # no less than the sum of |terms|
    found = out.cpu().double()
    assert found.shape == exact.shape
    error = found - exact
    allowed = ROUNDING_TOLERANCE * exact.abs() + SUM_TOLERANCE * magnitude
    wrong = (~(error.abs() <= allowed)).nonzero()  # NaN is wrong too
    assert len(wrong) == 0, f"{len(wrong)} of {out.numel()} values, first at {wrong[0].tolist()}"
    if exact.unique().numel() >= TILE * TILE:  # the mean over few values may be anything
        assert relative(error, exact) <= OVERALL_TOLERANCE
    for m in range(0, exact.shape[0] - TILE + 1, TILE):
        for n in range(0, exact.shape[1] - TILE + 1, TILE):
            tile = slice(m, m + TILE), slice(n, n + TILE)
            assert relative(error[tile], exact[tile]) <= TILE_TOLERANCE, f"tile at [{m}, {n}]"


def relative(error: Tensor, exact: Tensor) -> float:
    """Return the size of ``error`` relative to ``exact`` (Frobenius norms), 0 when both are 0."""
    size = exact.norm().item()
    return error.norm().item() / size if size else error.norm().item()
