"""Run with `kernel-builder test --emulate`, or on an AMD GPU without."""

import os
from pathlib import Path

import torch

from kernels import get_local_kernel

ROOT = Path(os.environ.get("KERNEL_UNDER_TEST", Path(__file__).parent.parent))


def test_double_is_exact() -> None:
    x = torch.arange(300.0, device="cuda")
    assert torch.equal(get_local_kernel(ROOT).double_it(x).cpu(), torch.arange(300.0) * 2)
