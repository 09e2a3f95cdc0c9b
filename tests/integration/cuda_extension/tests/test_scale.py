import os
from pathlib import Path

import pytest
import torch

from kernels import get_local_kernel


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str
)
def test_scale_is_right(dtype: torch.dtype) -> None:
    kernel = get_local_kernel(Path(os.environ["KERNEL_UNDER_TEST"]))
    x = torch.arange(200, dtype=dtype, device="cuda")
    assert torch.equal(kernel.scale(x, 2.0).cpu(), torch.arange(200, dtype=dtype) * 2)
