"""What the tests run on.

pytest tests                             the build in ../build, on a GPU or else the CPU
KERNEL_UNDER_TEST=FOLDER pytest tests    another kernel repository (a folder with build/)
KERNEL_TEST_DEVICE=cpu pytest tests      the device by name
KERNEL_TEST_SHAPES=all pytest tests      every shape; "few", the default on an emulated device,
                                         leaves out what takes long there
"""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # so that tests find the modules beside them

from reference import FORMATS, LARGEST, SCALE_BLOCK, Generate, Operands  # noqa: E402 (needs the path)
from where import device_under_test, has_few_shapes  # noqa: E402 (needs the path)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "large: takes long on an emulated device")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not has_few_shapes():
        return
    for item in items:
        if item.get_closest_marker("large"):
            item.add_marker(pytest.mark.skip(reason="large: KERNEL_TEST_SHAPES=all runs it"))


@pytest.fixture(scope="session")
def device() -> torch.device:
    return device_under_test()


@pytest.fixture(scope="session")
def gemm(device: torch.device) -> ModuleType:
    import kernels

    repository = Path(os.environ.get("KERNEL_UNDER_TEST", HERE.parent))
    return kernels.get_local_kernel(repository, backend="cpu" if device.type == "cpu" else None)


@pytest.fixture(params=["fn", "fnuz"])
def fp8(request: pytest.FixtureRequest, device: torch.device) -> str:
    """Each FP8 format that the device takes."""
    if device.type == "cuda" and request.param != device_format():
        pytest.skip(f"this device takes {device_format()} only")
    return request.param


@pytest.fixture
def any_fp8(device: torch.device) -> str:
    """One FP8 format that the device takes."""
    return "fn" if device.type == "cpu" else device_format()


def device_format() -> str:
    """Return the FP8 format of the GPU: FNUZ on the MI300 series."""
    arch = getattr(torch.cuda.get_device_properties(0), "gcnArchName", "").partition(":")[0]
    return "fnuz" if arch in {"gfx940", "gfx941", "gfx942"} else "fn"


@pytest.fixture
def generate(device: torch.device) -> Generate:
    """Make random operands: ``generate(m, n, k, fp8, a="k", b="k")``.

    ``a`` and ``b`` name the contiguous dimension: ``k`` is a linear layer's order, ``m`` and ``n``
    that of the contest.
    """

    def make(m: int, n: int, k: int, fp8: str, *, a: str = "k", b: str = "k") -> Operands:
        generator = torch.Generator().manual_seed(hash_of(m, n, k))

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator)

        def codes(x: int, contiguous: str) -> Tensor:
            values = normal(x, k) * (LARGEST[fp8] / 4)
            values = values.clamp(-LARGEST[fp8], LARGEST[fp8]).to(FORMATS[fp8]).to(device)
            return values.t() if contiguous == "k" else values.t().contiguous()

        blocks_k, blocks_n = -(-k // SCALE_BLOCK), -(-n // SCALE_BLOCK)
        return Operands(
            a=codes(m, a),
            b=codes(n, b),
            a_scale=normal(blocks_k, m).to(device),
            b_scale=normal(blocks_k, blocks_n).to(device),
        )

    return make


def hash_of(m: int, n: int, k: int) -> int:
    """Return a seed that differs between shapes and not between runs."""
    return (m * 65537 + n) * 65537 + k
