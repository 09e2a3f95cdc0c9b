"""A model that was read from a file: its data names neither layers nor kernels."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest
from torch import nn

from kernelmill.runtime.layers.extension import (
    FUNCTIONS,
    LAYER_NAME,
    use_kernel_forward_from_hub,
)
from kernelmill.runtime.layers.sites import find_sites

if TYPE_CHECKING:
    from collections.abc import Mapping


class Plain(nn.Module):
    """Nobody marked it as replaceable."""


@use_kernel_forward_from_hub("Marked")
class Marked(nn.Module):
    """A layer that is replaceable."""


def read(**members: Any) -> nn.Module:  # noqa: ANN401 - a file holds anything
    model = Plain()
    model.__dict__.update(members)
    found: nn.Module = pickle.loads(pickle.dumps(model))
    return found


@pytest.mark.parametrize(
    "members",
    [
        {LAYER_NAME: "Marked"},
        {FUNCTIONS: {"other": Marked()}},
        {FUNCTIONS: 5},
        {FUNCTIONS: "text"},
        {"kernel_condition": 5, LAYER_NAME: 7},
    ],
    ids=repr,
)
def test_members_of_a_model_make_nothing_replaceable(members: Mapping[str, object]) -> None:
    assert list(find_sites(read(**members))) == []


def test_class_says_what_a_layer_is_called() -> None:
    model = nn.Sequential(Marked())
    model[0].__dict__[LAYER_NAME] = "Other"
    assert [it.layer_name for it in find_sites(model)] == ["Marked"]
