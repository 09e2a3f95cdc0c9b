"""Run with `kernel-builder test`, or with pytest after `kernel-builder build`."""

import os
from pathlib import Path
from types import ModuleType

import pytest

from kernels import get_local_kernel

ROOT = Path(os.environ.get("KERNEL_UNDER_TEST", Path(__file__).parent.parent))
DEVICE = os.environ.get("KERNEL_TEST_DEVICE", "cpu")


@pytest.fixture(scope="module")
def kernel() -> ModuleType:
    return get_local_kernel(ROOT, backend=DEVICE)


def test_scale_takes_tensors_of_torch(kernel: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(5.0, device=DEVICE)
    out = torch.empty_like(x)
    kernel.scale(out, x, 3.0)
    assert torch.equal(out, 3 * x)


def test_scale_takes_arrays_of_numpy(kernel: ModuleType) -> None:
    if DEVICE != "cpu":
        pytest.skip("arrays of NumPy are on the CPU")
    numpy = pytest.importorskip("numpy")
    x = numpy.arange(5, dtype=numpy.float32)
    kernel.scale(x, x, -1.0)
    assert x.tolist() == [0, -1, -2, -3, -4]


def test_scale_refuses_what_it_cannot_read(kernel: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(4, device=DEVICE)
    with pytest.raises(TypeError, match="scale: x is not float32"):
        kernel.scale(x, x.double(), 1.0)
    with pytest.raises(ValueError, match="scale: out has 4 elements, x has 2"):
        kernel.scale(x, x[:2], 1.0)
    with pytest.raises(ValueError, match="scale: x is not contiguous"):
        kernel.scale(x[:2], x[::2], 1.0)
