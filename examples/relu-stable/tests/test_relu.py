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


@pytest.mark.parametrize("count", [0, 1, 255, 257, 1000])
def test_relu_is_exact(kernel: ModuleType, count: int) -> None:
    x = torch.arange(count, dtype=torch.float32).sub(count // 2).to(DEVICE)
    assert torch.equal(kernel.relu(x).cpu(), x.cpu().clamp_min(0))


def test_relu_keeps_what_is_no_number(kernel: ModuleType) -> None:
    assert kernel.relu(torch.tensor([float("nan"), -1.0], device=DEVICE)).isnan().tolist() == [
        True,
        False,
    ]


def test_relu_compiles_into_one_graph(kernel: ModuleType) -> None:
    x = torch.tensor([-1.0, 2.0], device=DEVICE)
    compiled = torch.compile(lambda y: kernel.relu(y) + 1, fullgraph=True, backend="aot_eager")
    assert compiled(x).tolist() == [1.0, 3.0]


def test_relu_refuses_what_it_cannot_read(kernel: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="relu: x is not float32"):
        kernel.relu(torch.zeros(3, dtype=torch.float64, device=DEVICE))
