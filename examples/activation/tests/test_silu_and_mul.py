"""Run with `kernel-builder test`, or with pytest after `kernel-builder build`."""

import math
import os
from pathlib import Path
from types import ModuleType

import pytest
import torch

from kernels import get_local_kernel

ROOT = Path(os.environ.get("KERNEL_UNDER_TEST", Path(__file__).parent.parent))
DEVICE = os.environ.get("KERNEL_TEST_DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
# One rounding, of a value that is right to a few float32 steps: half a step of the type, and a bit.
RELATIVE = {torch.float32: 2e-6, torch.float16: 2**-10, torch.bfloat16: 2**-7}


@pytest.fixture(scope="module")
def kernel() -> ModuleType:
    return get_local_kernel(ROOT, backend="cpu" if DEVICE == "cpu" else None)


def expected(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.cpu().double().chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * up


@pytest.mark.parametrize("dtype", RELATIVE, ids=str)
@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (1, 2), (2, 3, 62), (5, 514)], ids=str)
def test_silu_and_mul_is_right(
    kernel: ModuleType, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).mul(4).to(dtype)
    out = kernel.silu_and_mul(x.to(DEVICE))
    assert out.dtype == dtype
    torch.testing.assert_close(out.cpu().double(), expected(x), rtol=RELATIVE[dtype], atol=1e-7)


def test_silu_and_mul_takes_extreme_values(kernel: ModuleType) -> None:
    x = torch.tensor([[-100.0, 100.0, float("nan"), 2.0, 2.0, 2.0]], device=DEVICE)
    low, high, missing = kernel.silu_and_mul(x).cpu()[0].tolist()
    assert abs(low) < 1e-30
    assert high == 200.0
    assert math.isnan(missing)


def test_silu_and_mul_refuses_what_it_cannot_read(kernel: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="silu_and_mul: got Double, want float32, float16"):
        kernel.silu_and_mul(torch.zeros(2, 4, dtype=torch.float64, device=DEVICE))
    with pytest.raises(RuntimeError, match="silu_and_mul: tensors must be contiguous"):
        kernel.silu_and_mul(torch.zeros(4, 2, device=DEVICE).t())
    with pytest.raises(RuntimeError, match=r"silu_and_mul: input is \[3\], want an even last"):
        kernel.silu_and_mul(torch.zeros(3, device=DEVICE))
