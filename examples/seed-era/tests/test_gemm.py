"""Run with `kernel-builder test`, or with pytest after `kernel-builder build`."""

import os
from pathlib import Path

import pytest
import torch

from kernels import get_local_kernel

ROOT = Path(os.environ.get("KERNEL_UNDER_TEST", Path(__file__).parent.parent))


@pytest.mark.parametrize("shape", [(1, 1, 1), (16, 16, 16), (5, 33, 40), (3, 4, 0)], ids=str)
def test_gemm_is_right(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    random = torch.Generator().manual_seed(0)
    a, b = torch.randn(m, k, generator=random), torch.randn(k, n, generator=random)
    found = get_local_kernel(ROOT).gemm(a.cuda(), b.cuda())
    # Sums of up to 40 products near 1, in float32.
    torch.testing.assert_close(found.cpu().double(), a.double() @ b.double(), rtol=0, atol=1e-4)
