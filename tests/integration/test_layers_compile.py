"""Y10: kernels and ``torch.compile``. The kernels are pure Python; nothing compiles C++."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.unit.runtime.kernel_files import kernel_files, unload_kernels, write_files
from torch import nn

import kernels
from kernelmill.runtime.layers import (
    LocalFuncRepository,
    LocalLayerRepository,
    Mode,
    explain,
    kernelize,
    use_kernel_forward_from_hub,
    use_kernel_mapping,
    use_kernelized_func,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONES = torch.ones(2)
MODE = Mode.INFERENCE | Mode.TORCH_COMPILE
SOURCES = {
    "__init__.py": (
        "from . import layers\n\ndef shift(x):\n    return x + 1000\n\n"
        "shift.can_torch_compile = True\n"
    ),
    "layers.py": (
        "from torch import nn\n\nclass FastScale(nn.Module):\n    can_torch_compile = True\n\n"
        "    def forward(self, x):\n        return self.weight * x + 100\n"
    ),
}


@use_kernel_forward_from_hub("Scale")
class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x


@use_kernel_forward_from_hub("shift")
def shift(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@use_kernelized_func(shift)
class Shifter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = Scale()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return shift(self.scale(x))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = kernel_files(sources=SOURCES)
    return write_files(tmp_path / "build/torch-cpu", files).parents[1]


@pytest.fixture
def _mapping(folder: Path) -> Iterator[None]:
    layer = LocalLayerRepository(folder, layer_name="FastScale")
    function = LocalFuncRepository(folder, func_name="shift")
    with use_kernel_mapping({"Scale": {"cpu": layer}, "shift": {"cpu": function}}):
        yield
    kernelize(Shifter(), mode=MODE, enabled=False)


@pytest.fixture(autouse=True)
def _clean_process() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    unload_kernels()


def compiled(model: nn.Module) -> list[float]:
    result = torch.compile(model, fullgraph=True, backend="eager")(ONES)
    return result.tolist()  # type: ignore[no-any-return]


@pytest.mark.usefixtures("_mapping")
def test_kernelized_model_compiles_into_one_graph() -> None:
    model = kernelize(Shifter(), mode=MODE, use_fallback=False)
    assert explain(model).replaced == 2
    assert compiled(model) == [1103, 1103]


@pytest.mark.usefixtures("_mapping")
def test_model_that_is_compiled_already_can_be_kernelized() -> None:
    model: Any = torch.compile(Shifter(), fullgraph=True, backend="eager")
    assert model(ONES).tolist() == [4, 4]
    kernelize(model, mode=MODE, use_fallback=False)
    assert model(ONES).tolist() == [1103, 1103]
    kernelize(model, mode=MODE, enabled=False)
    assert model(ONES).tolist() == [4, 4]


def test_original_of_a_decorated_function_compiles_into_one_graph() -> None:
    assert compiled(Shifter()) == [4, 4]


def test_kernel_that_was_loaded_before_compiles_into_one_graph(folder: Path) -> None:
    kernel = kernels.get_local_kernel(folder)

    class Uses(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return kernel.shift(x)  # type: ignore[no-any-return]

    assert compiled(Uses()) == [1001, 1001]


def test_loading_inside_a_compiled_region_says_to_load_before(folder: Path) -> None:
    class Lazy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return kernels.get_local_kernel(folder).shift(x)  # type: ignore[no-any-return]

    with pytest.raises(Exception, match=r"load before compile. Call get_local_kernel\(\) outside"):
        compiled(Lazy())
    model = torch.compile(Lazy(), backend="eager")
    assert model(ONES).tolist() == [1001, 1001], "without fullgraph, it is a graph break"


def test_loading_by_name_inside_a_compiled_region_says_so_before_it_asks_a_hub() -> None:
    class Lazy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return kernels.get_kernel("acme/any", version=1).shift(x)  # type: ignore[no-any-return]

    with pytest.raises(Exception, match=r"load before compile. Call get_kernel\(\) outside"):
        compiled(Lazy())


@pytest.mark.usefixtures("_mapping")
def test_kernelizing_inside_a_compiled_region_says_so() -> None:
    model = Scale()

    def region(x: torch.Tensor) -> torch.Tensor:
        return kernelize(model, mode=MODE)(x)  # type: ignore[no-any-return]

    with pytest.raises(Exception, match="or kernelize the model before compiling it"):
        torch.compile(region, fullgraph=True, backend="eager")(ONES)
