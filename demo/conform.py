"""Load the kernel by name and judge every shape; print one JSON line per shape.

Run in a process of its own (``python -m demo.conform REPO``), as a user's program would:
nothing of the build is known here but the Hub's address, in ``HF_ENDPOINT``.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, Final

import torch

from demo.shapes import FORMATS, LAYOUTS, SHAPES, Shape
from kernels import get_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

SCALE_BLOCK: Final = 128
TILE: Final = 64
TIME_LIMIT_S: Final = 0.2
# Rounding once to bfloat16 is off by at most half a unit in the last of 8 bits, 2^-9 of the value.
# What float32 sums add to it is far smaller, also where large terms cancel inside a tile.
OVERALL_LIMIT: Final = 2.0e-3
TILE_LIMIT: Final = 2.5e-3


def dequantise(a: torch.Tensor, scale: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return ``a`` [K, X] times its scales [ceil(K / 128), X or ceil(X / 128)], as ``dtype``."""
    full = scale.to(dtype).repeat_interleave(SCALE_BLOCK, 0)[: a.shape[0]]
    if scale.shape[1] != a.shape[1]:
        full = full.repeat_interleave(SCALE_BLOCK, 1)[:, : a.shape[1]]
    return a.to(dtype) * full


def worst_tile(out: torch.Tensor, want: torch.Tensor) -> float:
    """Return the largest relative Frobenius error of any 64 x 64 tile of ``out``."""
    worst = 0.0
    for row in range(0, out.shape[0], TILE):
        for column in range(0, out.shape[1], TILE):
            area = (slice(row, row + TILE), slice(column, column + TILE))
            worst = max(worst, relative_error(out[area], want[area]))
    return worst


def relative_error(out: torch.Tensor, want: torch.Tensor) -> float:
    """Return ``|out - want| / |want|`` in the Frobenius norm; a NaN anywhere gives infinity."""
    error = float((out.double() - want).norm() / want.norm())
    return error if error == error else float("inf")  # noqa: PLR0124 - NaN is not equal to itself


def median_ms(run: Callable[[], object]) -> float:
    """Return the median wall time of ``run`` in milliseconds, after one run to warm up.

    Runs three times, and up to nine as long as they take less than TIME_LIMIT_S together.
    """
    run()
    times: list[float] = []
    while len(times) < 3 or (len(times) < 9 and sum(times) < TIME_LIMIT_S * 1e3):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def random_operands(shape: Shape) -> tuple[torch.Tensor, ...]:
    """Return ``a``, ``b``, ``a_scale`` and ``b_scale``, all float32."""
    generator = torch.Generator().manual_seed(shape.m * 31 + shape.n * 17 + shape.k)
    k_blocks, n_blocks = -(-shape.k // SCALE_BLOCK), -(-shape.n // SCALE_BLOCK)
    sizes = ((shape.k, shape.m), (shape.k, shape.n), (k_blocks, shape.m), (k_blocks, n_blocks))
    return tuple(torch.randn(size, generator=generator) for size in sizes)


def judge_shape(gemm: Callable[..., torch.Tensor], shape: Shape) -> dict[str, Any]:
    """Run one shape in both layouts and formats; return errors, times and the verdict."""
    a32, b32, a_scale, b_scale = random_operands(shape)
    row: dict[str, Any] = {"shape": str(shape), "flops": shape.flops, "error": 0.0, "tile": 0.0}
    row["repeats_bitwise"] = True
    times: dict[str, list[float]] = {layout: [] for layout in LAYOUTS}
    peer_times: dict[str, list[float]] = {layout: [] for layout in LAYOUTS}
    for name in FORMATS:
        a, b = a32.to(getattr(torch, name)), b32.to(getattr(torch, name))
        want = dequantise(a, a_scale, torch.float64).t() @ dequantise(b, b_scale, torch.float64)
        for layout in LAYOUTS:
            if layout == "K contiguous":
                a, b = a.t().contiguous().t(), b.t().contiguous().t()
            out = gemm(a, b, a_scale, b_scale)
            again = torch.full_like(out, float("nan"))
            gemm(a, b, a_scale, b_scale, again)
            row["repeats_bitwise"] &= torch.equal(out, again)
            row["error"] = max(row["error"], relative_error(out, want))
            row["tile"] = max(row["tile"], worst_tile(out, want))
            times[layout].append(median_ms(_bind(gemm, a, b, a_scale, b_scale, again)))
            if name == FORMATS[0]:  # the peer's time does not depend on the format
                peer_times[layout].append(median_ms(_bind(_peer, a, b, a_scale, b_scale)))
    row["ms"] = {layout: statistics.mean(values) for layout, values in times.items()}
    row["peer_ms"] = {layout: statistics.mean(values) for layout, values in peer_times.items()}
    row["ok"] = bool(
        row["error"] <= OVERALL_LIMIT and row["tile"] <= TILE_LIMIT and row["repeats_bitwise"]
    )
    return row


def _bind(function: Callable[..., Any], *args: torch.Tensor) -> Callable[[], object]:
    return lambda: function(*args)


def _peer(
    a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor
) -> torch.Tensor:
    """Do what a user writes without a kernel: dequantise to float32, then multiply."""
    full_a = dequantise(a, a_scale, torch.float32)
    return (full_a.t() @ dequantise(b, b_scale, torch.float32)).to(torch.bfloat16)


def main() -> int:
    """Judge every shape; exit 1 when any is wrong."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # By name, because pip may have brought a PyTorch for a GPU that this machine lacks.
        module = get_kernel(sys.argv[1], backend="cpu")
    is_for_gpu = bool(torch.version.cuda or torch.version.hip)
    loaded = {"module": module.__name__, "file": str(module.__file__)}
    start = {"loaded": loaded, "torch_is_for_gpu": is_for_gpu}
    print(json.dumps(start | {"warnings": [str(w.message) for w in caught]}), flush=True)
    ok = True
    for shape in SHAPES:
        row = judge_shape(module.gemm, shape)
        ok &= row["ok"]
        print(json.dumps(row), flush=True)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
