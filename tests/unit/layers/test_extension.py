"""The marks: what they do to classes and functions."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from tests.unit.layers.models import ONES, Offer, Scale, Shifter, fast_shift, shift
from torch import nn

from kernelmill.runtime.layers import (
    Mode,
    explain,
    kernelize,
    replace_kernel_forward_from_hub,
    use_kernel_forward_from_hub,
    use_kernel_func_from_hub,
    use_kernel_mapping,
    use_kernelized_func,
)
from kernelmill.runtime.layers.extension import make_function_layer

FAST = make_function_layer(fast_shift)


def test_class_is_marked_and_stays_itself() -> None:
    class Plain(nn.Module): ...

    assert use_kernel_forward_from_hub("Name")(Plain) is Plain
    marks: Any = Plain
    assert (marks.kernel_layer_name, marks.kernel_condition(Plain())) == ("Name", True)
    replace_kernel_forward_from_hub(Plain, "Other", lambda _: False)
    assert (marks.kernel_layer_name, marks.kernel_condition(Plain())) == ("Other", False)
    assert marks().kernel_condition(None) is False, "it is not bound to the instance"


def test_function_becomes_a_module_with_the_same_signature() -> None:
    module: Any = shift
    assert issubclass(type(module), nn.Module)
    assert shift(ONES).tolist() == [2, 2]
    assert str(inspect.signature(shift)) == "(x: 'torch.Tensor') -> 'torch.Tensor'"
    assert str(inspect.signature(type(module).forward)).startswith("(self, x: 'torch.Tensor')")
    assert (module.__name__, module.__doc__) == ("shift", "Add one.")
    assert type(module).__name__ == "Func"


def test_flags_of_a_function_are_those_of_its_layer() -> None:
    def function(x: int) -> int:
        return x

    layer: Any = make_function_layer(function)
    assert (layer.can_torch_compile, layer.has_backward) == (False, True)
    vars(function).update(can_torch_compile=True, has_backward=False)
    layer = make_function_layer(function)
    assert (layer.can_torch_compile, layer.has_backward) == (True, False)


@pytest.mark.parametrize("thing", [3, "text", nn.Linear(1, 1), len])
def test_nothing_else_can_be_marked(thing: Any) -> None:  # noqa: ANN401
    with pytest.raises(TypeError, match="can only be applied to classes or functions"):
        use_kernel_forward_from_hub("Name")(thing)


def test_function_without_a_signature_is_named() -> None:
    with pytest.raises(TypeError, match="has no signature that Python can read"):
        make_function_layer(torch.neg)


def test_kernelized_function_needs_a_mark() -> None:
    message = (
        "Function `fast_shift` is not decorated with @use_kernel_forward_from_hub "
        "and cannot be used with @use_kernelized_func"
    )
    with pytest.raises(ValueError, match=message):
        use_kernelized_func(fast_shift)


def test_function_is_replaced_where_it_is_called() -> None:
    replaceable = nn.Sequential(Shifter(), Shifter())
    with use_kernel_mapping({"shift": {"cpu": Offer(FAST)}}):
        kernelize(replaceable, mode=Mode.INFERENCE)
    assert shift(ONES).tolist() == [1001, 1001]
    assert replaceable[0](ONES).tolist() == [1001, 1001]
    (layer,) = explain(replaceable).layers
    assert (layer.path, layer.layer_name, layer.origin is not None) == ("0", "shift", True)
    kernelize(replaceable, mode=Mode.INFERENCE)
    assert shift(ONES).tolist() == [2, 2], "without a mapping it is the original again"


def test_functions_of_a_class_are_listed_by_layer_name() -> None:
    @use_kernel_forward_from_hub("shift")
    def other(x: torch.Tensor) -> torch.Tensor:
        return x

    @use_kernelized_func(other)
    class Child(Shifter): ...

    assert Shifter()._kernel_funcs == {"shift": shift}
    assert Child()._kernel_funcs == {"shift": shift, "shift 2": other}
    assert use_kernelized_func(shift)(Child)()._kernel_funcs == {"shift": shift, "shift 2": other}


def test_old_name_for_functions_works_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    @use_kernel_func_from_hub("old")
    def old(x: torch.Tensor) -> torch.Tensor:
        return x

    class Caller(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.function = old

    (message,) = caplog.messages
    assert message == (
        "use_kernel_func_from_hub is deprecated and will be removed in kernels 0.17. "
        "Use [`use_kernel_forward_from_hub`] instead."
    )
    with use_kernel_mapping({"old": {"cpu": Offer(FAST)}}):
        caller = kernelize(Caller(), mode=Mode.INFERENCE, device="cpu")
    assert caller.function(ONES).tolist() == [1001, 1001]


def test_subclass_of_a_marked_class_is_marked() -> None:
    class Child(Scale): ...

    with use_kernel_mapping({"Scale": {"cpu": Offer()}}):
        assert kernelize(Child(), mode=Mode.INFERENCE)(ONES).tolist() == [103, 103]
