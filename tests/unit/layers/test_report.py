"""What ``explain`` says of a model."""

from __future__ import annotations

import json

from tests.unit.layers.models import Offer, PlusHundred, Scale, Shifter, model
from torch import nn

from kernelmill.runtime.layers import Mode, explain, kernelize, use_kernel_mapping


def half_replaced() -> nn.Module:
    replaceable = nn.Sequential(Scale(), Shifter())
    with use_kernel_mapping({"Scale": {"cpu": Offer()}}):
        return kernelize(replaceable, mode=Mode.INFERENCE)


def test_untouched_model_is_reported() -> None:
    report = explain(model())
    assert (report.replaced, report.total) == (0, 2)
    assert str(report) == (
        "0 of 2 layers replaced\n"
        "  0  Scale  original: not kernelized\n"
        "  2  Scale  original: not kernelized"
    )
    assert str(explain(Scale())).endswith("  (the model)  Scale  original: not kernelized")


def test_text_says_which_implementation_runs_and_why() -> None:
    lines = explain(half_replaced()).to_text().splitlines()
    assert lines[:2] == [
        "1 of 2 layers replaced",
        "  0  Scale  kernel: `acme/offer` (revision: v1), layer `Kernel` (Mode.INFERENCE, cpu)",
    ]
    assert lines[2].startswith("  1  shift  original: No kernel mapping found for layer `shift`.")


def test_json_says_the_same() -> None:
    facts = json.loads(explain(half_replaced()).to_json())
    assert (facts["version"], facts["replaced"], facts["total"]) == (1, 1, 2)
    kernel, original = facts["layers"]
    assert kernel == {
        "path": "0",
        "layer_name": "Scale",
        "class": "Scale",
        "runs": "kernel",
        "origin": {
            "repository": "`acme/offer` (revision: v1), layer `Kernel`",
            "repo_id": None,
            "revision": None,
            "version": None,
            "variant": None,
            "layer": "PlusHundred",
        },
        "mode": "Mode.INFERENCE",
        "registered_for": "Mode.FALLBACK",
        "device": "cpu",
        "reason": None,
        "note": None,
    }
    assert (original["runs"], original["origin"], original["path"]) == ("original", None, "1")


def test_part_of_a_model_is_reported_from_itself() -> None:
    part = half_replaced()[0]  # type: ignore[index]
    assert [it.path for it in explain(part).layers] == [""]


def test_forward_that_was_replaced_later_is_noticed() -> None:
    replaceable = half_replaced()
    replaceable[0].forward = lambda x: x  # type: ignore[index]
    (first, _) = explain(replaceable).layers
    assert (first.origin, first.reason) == (None, "its forward was replaced after kernelize")
    del replaceable[0].forward  # type: ignore[index]
    assert explain(replaceable).replaced == 0


def test_kernel_that_goes_away_is_no_longer_reported() -> None:
    replaceable = half_replaced()
    kernelize(replaceable, mode=Mode.INFERENCE)
    assert explain(replaceable).replaced == 0
    assert "forward" not in vars(replaceable[0])  # type: ignore[index]
    assert PlusHundred.__name__ not in str(explain(replaceable))
