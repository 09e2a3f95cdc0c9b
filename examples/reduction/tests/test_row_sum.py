"""Run with `kernel-builder test`, or with pytest after `kernel-builder build`."""

import os
from pathlib import Path
from types import ModuleType

import pytest
import torch

from kernels import get_local_kernel

ROOT = Path(os.environ.get("KERNEL_UNDER_TEST", Path(__file__).parent.parent))
DEVICE = os.environ.get("KERNEL_TEST_DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(scope="module")
def kernel() -> ModuleType:
    return get_local_kernel(ROOT, backend="cpu" if DEVICE == "cpu" else None)


@pytest.mark.parametrize(
    "shape", [(0, 5), (3, 0), (1, 1), (2, 63), (3, 256), (5, 257), (7, 1000)], ids=str
)
def test_row_sum_is_right(kernel: ModuleType, shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    # A float32 sum of up to 1000 terms near 1 is off by less than 1000 * 2^-24.
    torch.testing.assert_close(
        kernel.row_sum(matrix).cpu().double(), matrix.cpu().double().sum(1), rtol=0, atol=1e-4
    )


def test_row_sum_refuses_what_it_cannot_read(kernel: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="row_sum: got Double, want float32"):
        kernel.row_sum(torch.zeros(2, 3, dtype=torch.float64, device=DEVICE))
    with pytest.raises(RuntimeError, match="row_sum: tensors must be contiguous"):
        kernel.row_sum(torch.zeros(2, 3, device=DEVICE).t())
    with pytest.raises(RuntimeError, match=r"row_sum: input is \[3\], want \[rows, columns\]"):
        kernel.row_sum(torch.zeros(3, device=DEVICE))
