"""Load the ROCm build by name and judge small shapes on an emulated GPU; print JSON lines.

Run as ``kernel-emulator run --sanitize -- python -m demo.emulated REPO``: PyTorch sees an MI300X
there, so that the loader picks the gfx942 build, as it would for a user who has one.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, Final

import torch

from demo.conform import (
    OVERALL_LIMIT,
    TILE_LIMIT,
    dequantise,
    random_operands,
    relative_error,
    worst_tile,
)
from demo.shapes import EMULATED_SHAPES, LAYOUTS, Shape
from kernels import get_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT: Final = torch.float8_e4m3fnuz
"""What gfx942 has."""


def judge_shape(gemm: Callable[..., torch.Tensor], shape: Shape) -> dict[str, Any]:
    """Run one shape in both layouts; return errors, seconds of emulation and the verdict."""
    a32, b32, a_scale, b_scale = random_operands(shape)
    a, b = a32.to(FORMAT), b32.to(FORMAT)
    want = dequantise(a, a_scale, torch.float64).t() @ dequantise(b, b_scale, torch.float64)
    scales = a_scale.cuda(), b_scale.cuda()
    row: dict[str, Any] = {"shape": str(shape), "error": 0.0, "tile": 0.0, "emulator_s": 0.0}
    for layout in LAYOUTS:
        on_device = a.cuda(), b.cuda()
        if layout == "K contiguous":
            on_device = a.t().contiguous().cuda().t(), b.t().contiguous().cuda().t()
        start = time.perf_counter()
        out = gemm(*on_device, *scales).cpu()
        row["emulator_s"] += time.perf_counter() - start
        row["error"] = max(row["error"], relative_error(out, want))
        row["tile"] = max(row["tile"], worst_tile(out, want))
    row["ok"] = row["error"] <= OVERALL_LIMIT and row["tile"] <= TILE_LIMIT
    return row


def main() -> int:
    """Judge every shape; exit 1 when any is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no version is pinned is said by demo.conform
        module = get_kernel(sys.argv[1])
    device = torch.cuda.get_device_name()
    print(json.dumps({"module": module.__name__, "device": device}), flush=True)
    ok = True
    for shape in EMULATED_SHAPES:
        row = judge_shape(module.gemm, shape)
        ok &= row["ok"]
        print(json.dumps(row), flush=True)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
