"""Y9: a kernelized model is the same tree of modules, and its copies and pickles work."""

from __future__ import annotations

import copy
import io
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.unit.layers import models
from tests.unit.layers.models import (
    ONES,
    Offer,
    Scale,
    Shifter,
    fast_shift,
    forward_class,
    model,
    shift,
)
from torch import nn

from kernelmill.runtime.layers import Mode, explain, kernelize, use_kernel_mapping
from kernelmill.runtime.layers.extension import make_function_layer

if TYPE_CHECKING:
    from collections.abc import Callable


def differently_named(self: Scale, x: torch.Tensor) -> torch.Tensor:
    return self.weight * x + 100


@pytest.fixture(params=["forward", "another-name"])
def kernelized(request: pytest.FixtureRequest) -> nn.Module:
    kernel = models.PlusHundred if request.param == "forward" else forward_class(differently_named)
    offers = {
        "Scale": {"cpu": Offer(kernel)},
        "shift": {"cpu": Offer(make_function_layer(fast_shift))},
    }
    with use_kernel_mapping(offers):
        return kernelize(nn.Sequential(model(), Shifter()), mode=Mode.INFERENCE)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pickles find the classes of this folder by name."""
    monkeypatch.setitem(sys.modules, models.__name__, models)


def test_tree_is_identical_before_and_after(kernelized: nn.Module) -> None:
    plain = nn.Sequential(model(), Shifter())

    def facts(it: nn.Module) -> tuple[object, ...]:
        return (
            [(name, type(module)) for name, module in it.named_modules()],
            [(name, type(child)) for name, child in it.named_children()],
            [(name, value.shape) for name, value in it.named_parameters()],
            [(name, value.shape) for name, value in it.state_dict().items()],
            list(it.named_buffers()),
            repr(it),
            [list(module._modules) for module in it.modules()],
        )

    assert facts(kernelized) == facts(plain)
    plain.load_state_dict(kernelized.state_dict())


def test_deep_copy_runs_the_kernel_on_its_own_parameters(kernelized: nn.Module) -> None:
    twin = copy.deepcopy(kernelized)
    first: Any = twin[0][0]  # type: ignore[index]
    first.weight.data.fill_(7)
    assert first(ONES).tolist() == [107, 107]
    assert kernelized[0][0](ONES).tolist() == [103, 103]  # type: ignore[index]
    assert twin[1](ONES).tolist() == [1001, 1001]  # type: ignore[index]
    assert explain(twin) == explain(kernelized)
    assert explain(twin).replaced == 3
    kernelize(twin, mode=Mode.INFERENCE)
    assert first(ONES).tolist() == [7, 7]
    assert kernelized[0][0](ONES).tolist() == [103, 103]  # type: ignore[index]


def by_pickle(it: nn.Module) -> nn.Module:
    return pickle.loads(pickle.dumps(it))  # type: ignore[no-any-return]


def by_torch(it: nn.Module) -> nn.Module:
    file = io.BytesIO()
    torch.save(it, file)
    file.seek(0)
    return torch.load(file, weights_only=False)  # type: ignore[no-any-return]


@pytest.mark.parametrize("travel", [by_pickle, by_torch])
def test_pickle_runs_the_original(
    kernelized: nn.Module, travel: Callable[[nn.Module], nn.Module]
) -> None:
    twin: Any = travel(kernelized)
    assert twin[0][0](ONES).tolist() == [3, 3]
    scales = [it for it in explain(twin).layers if it.layer_name == "Scale"]
    assert {(it.origin, it.reason) for it in scales} == {(None, "not kernelized")}
    with use_kernel_mapping({"Scale": {"cpu": Offer()}}):
        kernelize(twin, mode=Mode.INFERENCE)
    assert twin[0][0](ONES).tolist() == [103, 103]


def test_pickle_names_nothing_of_a_kernel_and_nothing_of_ours(kernelized: nn.Module) -> None:
    """S1: reading a file imports neither."""
    written = pickle.dumps(kernelized)
    for name in (b"kernelmill", b"PlusHundred", b"differently_named", b"fast_shift", b"acme"):
        assert name not in written


def test_function_is_copied_and_pickled_by_its_name() -> None:
    assert copy.deepcopy(shift) is shift
    assert pickle.loads(pickle.dumps(shift)) is shift
    assert len(pickle.dumps(shift)) < 100


def test_state_dict_of_a_kernelized_model_loads_into_a_plain_one(kernelized: nn.Module) -> None:
    plain = nn.Sequential(model(), Shifter())
    result = plain.load_state_dict(kernelized.state_dict(), strict=True)
    assert (result.missing_keys, result.unexpected_keys) == ([], [])


def test_parameters_that_are_swapped_are_seen_by_the_kernel() -> None:
    """As ZeRO-3 does, which gathers and releases them around each call."""
    layer = Scale()
    with use_kernel_mapping({"Scale": {"cpu": Offer()}}):
        kernelize(layer, mode=Mode.INFERENCE)
    whole = layer.weight.data
    layer.weight.data = torch.empty(0)
    layer.register_forward_pre_hook(lambda module, _: setattr(module.weight, "data", whole))
    layer.register_forward_hook(lambda module, *_: setattr(module.weight, "data", torch.empty(0)))
    assert layer(ONES).tolist() == [103, 103]
    assert layer.weight.numel() == 0
