"""Y4: whether a kernel's class can replace a layer, and what is said when it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from tests.unit.layers.models import ONES, Offer, PlusHundred, Scale, forward_class
from torch import nn

from kernelmill.runtime.layers import LayerRepository, Mode, kernelize, use_kernel_mapping
from kernelmill.runtime.layers.interface import ensure_replaces

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = LayerRepository("acme/scale", layer_name="FastScale", version=3)
NAME = "`acme/scale` (revision: v3), layer `FastScale`"


class Layer(nn.Module):
    def forward(self, x: int, y: int = 2, *, z: int = 3) -> None: ...


def same(self: object, x: int, y: int = 5, *, z: int = 6) -> None: ...
def extra(self: object, x: int, y: int = 2, *, z: int = 3, w: int = 4) -> None: ...
def fewer(self: object, x: int, *, z: int = 3) -> None: ...
def none(self: object) -> None: ...
def positional(self: object, x: int, y: int = 2, z: int = 3) -> None: ...
def variadic(self: object, x: int, y: int = 2, **z: int) -> None: ...
def renamed(self: object, x: int, other: int = 2, *, z: int = 3) -> None: ...
def renamed_self(this: object, x: int, y: int = 2, *, z: int = 3) -> None: ...
def no_default(self: object, x: int, y: int, *, z: int = 3) -> None: ...


@pytest.mark.parametrize(
    ("forward", "problem"),
    [
        pytest.param(
            extra,
            "different number of arguments. First difference: `w=4` is only in the kernel",
            id="one-more",
        ),
        pytest.param(
            fewer,
            "different number of arguments. First difference: `z=3` in place of `y=2`",
            id="one-less",
        ),
        pytest.param(
            none,
            "different number of arguments. First difference: `x` is only in the layer",
            id="none",
        ),
        pytest.param(
            positional,
            "different kind of arguments (z: 'int' = 3 (POSITIONAL_OR_KEYWORD) and "
            "z: 'int' = 3 (KEYWORD_ONLY))",
            id="other-kind",
        ),
        pytest.param(
            variadic,
            "different kind of arguments (**z: 'int' (VAR_KEYWORD) and "
            "z: 'int' = 3 (KEYWORD_ONLY))",
            id="variadic",
        ),
    ],
)
def test_other_parameters_are_refused(forward: Callable[..., None], problem: str) -> None:
    with pytest.raises(TypeError) as caught:
        ensure_replaces(forward_class(forward), Layer, REPOSITORY)
    text = str(caught.value)
    assert f"Forward signature of {NAME} does not match `Layer`: {problem}" in text
    assert "the layer has (self, x, y=2, *, z=3)" in text
    assert "the kernel has (self" in text


@pytest.mark.parametrize(
    ("forward", "nuance"),
    [
        pytest.param(same, "", id="other-defaults"),
        pytest.param(renamed_self, "", id="self-by-another-name"),
        pytest.param(renamed, "`other` in place of `y`, so calls by name fail", id="renamed"),
        pytest.param(
            no_default, "`y` has no default, so calls that leave it out fail", id="no-default"
        ),
    ],
)
def test_nuances_are_accepted_and_named(forward: Callable[..., None], nuance: str) -> None:
    note = ensure_replaces(forward_class(forward), Layer, REPOSITORY)
    if not nuance:
        assert note == ""
        return
    assert note.startswith(f"{NAME} has (self, x, ")
    assert note.endswith(f"`Layer` has (self, x, y=2, *, z=3): {nuance}")


def test_nuance_is_warned_of_once_and_the_kernel_runs(caplog: pytest.LogCaptureFixture) -> None:
    def forward(self: Scale, value: torch.Tensor) -> torch.Tensor:
        return self.weight * value + 100

    layers = nn.Sequential(Scale(), Scale())
    with use_kernel_mapping({"Scale": {"cpu": Offer(forward_class(forward))}}):
        kernelize(layers, mode=Mode.INFERENCE)
    assert layers[1](ONES).tolist() == [103, 103]
    (message,) = caplog.messages
    assert message.startswith("kernelize: 2 of 2 layers replaced\n  `acme/offer` (revision: v1)")
    assert message.endswith("`value` in place of `x`, so calls by name fail (2 layers)")


class WithConstructor(PlusHundred):
    def __init__(self) -> None:
        super().__init__()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        pytest.param(dict, "Layer `dict` is not a Torch layer.", id="no-module"),
        pytest.param(same, "Layer `same` is not a Torch layer.", id="function"),
        pytest.param(
            WithConstructor, f"{NAME} must not override nn.Module constructor.", id="constructor"
        ),
        pytest.param(
            forward_class(same, scale=2, helper=same),
            f"{NAME} must not contain additional members compared to `Layer`."
            "\n  hint: make these functions of the kernel's module: helper, scale",
            id="members",
        ),
    ],
)
def test_class_with_a_state_of_its_own_is_refused(kernel: type, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        ensure_replaces(kernel, Layer, REPOSITORY)
    assert message in str(caught.value)


def test_flags_are_allowed() -> None:
    kernel = forward_class(same, can_torch_compile=True, has_backward=False)
    assert ensure_replaces(kernel, Layer, REPOSITORY) == ""


def test_one_kernel_is_judged_for_every_class_that_it_replaces() -> None:
    class Other(nn.Module):
        kernel_layer_name = "Scale"

        def forward(self, x: int, y: int) -> None: ...

    layers = nn.Sequential(Scale(), Other())
    with (
        use_kernel_mapping({"Scale": {"cpu": Offer()}}),
        pytest.raises(TypeError, match="does not match `Other`: different number of arguments"),
    ):
        kernelize(layers, mode=Mode.INFERENCE)
