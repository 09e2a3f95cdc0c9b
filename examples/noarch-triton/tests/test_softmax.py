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
    if DEVICE != "cpu":
        pytest.importorskip("triton", reason="the GPU's kernel is written in Triton")
    return get_local_kernel(ROOT, backend="cpu" if DEVICE == "cpu" else None)


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (3, 7), (2, 3, 1000)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_softmax_agrees_with_torch(
    kernel: ModuleType, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    x = torch.randn(shape, dtype=dtype, device=DEVICE)
    torch.testing.assert_close(kernel.softmax(x), torch.softmax(x.float(), -1).to(dtype))


def test_softmax_compiles_into_one_graph(kernel: ModuleType) -> None:
    x = torch.randn(4, 9, device=DEVICE)
    compiled = torch.compile(lambda y: kernel.softmax(y) * 2, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), torch.softmax(x, -1) * 2)


def test_tuning_comes_from_the_data_file(kernel: ModuleType) -> None:
    assert kernel.launch_settings("gfx942:sramecc+:xnack-")["num_warps"] == 8
    assert kernel.launch_settings("gfx90a") == {"num_warps": 4, "num_stages": 2}


def test_softmax_refuses_rows_without_columns(kernel: ModuleType) -> None:
    with pytest.raises(ValueError, match="want at least one column"):
        kernel.softmax(torch.zeros(3, 0, device=DEVICE))
