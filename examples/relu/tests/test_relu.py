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


def numbers(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator).to(DEVICE)


@pytest.mark.parametrize("shape", [(0,), (1,), (257,), (3, 5, 7)], ids=str)
def test_relu_and_its_gradient_are_exact(kernel: ModuleType, shape: tuple[int, ...]) -> None:
    x, theirs = numbers(*shape).requires_grad_(), numbers(*shape).requires_grad_()
    out, expected = kernel.relu(x), torch.relu(theirs)
    assert torch.equal(out.cpu(), expected.cpu())
    weight = torch.arange(out.numel(), dtype=torch.float32, device=DEVICE).view(shape)
    (out * weight).sum().backward()
    (expected * weight).sum().backward()
    assert torch.equal(x.grad.cpu(), theirs.grad.cpu())


def test_relu_keeps_what_is_no_number(kernel: ModuleType) -> None:
    x = torch.tensor([float("nan"), -1.0], device=DEVICE, requires_grad=True)
    out = kernel.relu(x)
    assert out.isnan().tolist() == [True, False]
    out.backward(torch.ones_like(out))
    assert x.grad.tolist() == [1.0, 0.0]


def test_relu_takes_a_view(kernel: ModuleType) -> None:
    x = numbers(4, 6).t()
    assert torch.equal(kernel.relu(x).cpu(), torch.relu(x).cpu())


def test_relu_compiles_into_one_graph_with_its_gradient(kernel: ModuleType) -> None:
    x = numbers(8).requires_grad_()
    compiled = torch.compile(lambda y: kernel.relu(y) * 2, fullgraph=True, backend="aot_eager")
    compiled(x).sum().backward()
    assert torch.equal(x.grad.cpu(), 2.0 * (x > 0).float().cpu())


def test_layer_says_what_it_can_do(kernel: ModuleType) -> None:
    layer = kernel.layers.ReLU()
    assert (layer.has_backward, layer.can_torch_compile) == (True, True)
    assert layer(torch.tensor([-1.0, 1.0], device=DEVICE)).tolist() == [0.0, 1.0]


def test_relu_refuses_what_it_cannot_read(kernel: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="relu: x is Double, want float32"):
        kernel.relu(torch.zeros(3, dtype=torch.float64, device=DEVICE))
