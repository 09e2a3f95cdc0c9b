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
    "shape", [(0, 5), (3, 0), (1, 1), (32, 32), (31, 33), (33, 64), (100, 70)], ids=str
)
def test_transpose_is_exact(kernel: ModuleType, shape: tuple[int, int]) -> None:
    matrix = torch.arange(shape[0] * shape[1], dtype=torch.float32).view(shape).to(DEVICE)
    out = kernel.transpose(matrix)
    assert out.is_contiguous()
    assert torch.equal(out, matrix.t())


def test_transpose_is_exact_when_there_are_more_tiles_than_workgroups(kernel: ModuleType) -> None:
    matrix = torch.arange(2.0 * 32 * 260, device=DEVICE).view(-1, 2)
    assert torch.equal(kernel.transpose(matrix), matrix.t())


def test_transpose_refuses_what_it_cannot_read(kernel: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="transpose: got Double, want float32"):
        kernel.transpose(torch.zeros(2, 3, dtype=torch.float64, device=DEVICE))
    with pytest.raises(RuntimeError, match="transpose: tensors must be contiguous"):
        kernel.transpose(torch.zeros(2, 3, device=DEVICE).t())
    with pytest.raises(RuntimeError, match=r"transpose: input is \[3\], want \[rows, columns\]"):
        kernel.transpose(torch.zeros(3, device=DEVICE))
