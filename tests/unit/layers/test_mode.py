"""Y5 and Y7: which modes there are, and which registered mode serves which."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
from tests.unit.layers.models import ONES, Offer, model

from kernelmill.runtime.layers import Device, Mode, kernelize, use_kernel_mapping
from kernelmill.runtime.layers.choice import Choice, Miss, choose
from kernelmill.runtime.layers.mapping import Table, extended
from kernelmill.runtime.layers.mode import parse_mode

I, T, C = Mode.INFERENCE, Mode.TRAINING, Mode.TORCH_COMPILE  # noqa: E741
REGISTERED = (I, I | C, T, T | C, Mode.FALLBACK)
SUBSETS = list(chain.from_iterable(combinations(REGISTERED, n) for n in range(6)))
SERVES = {
    I: [I, I | C, T, T | C, Mode.FALLBACK],
    T: [T, T | C, Mode.FALLBACK],
    I | C: [I | C, T | C, Mode.FALLBACK],
    T | C: [T | C, Mode.FALLBACK],
}


@pytest.mark.parametrize("asked", SERVES, ids=str)
@pytest.mark.parametrize("registered", SUBSETS, ids=lambda it: "+".join(map(str, it)) or "none")
def test_best_registered_mode_serves(registered: tuple[Mode, ...], asked: Mode) -> None:
    table = extended(Table(), {"X": {"cpu": {mode: Offer(name=str(mode)) for mode in registered}}})
    found = choose(table, "X", mode=asked, device=Device("cpu"), probe=lambda: None)
    best = next((mode for mode in SERVES[asked] if mode in registered), None)
    if best is None:
        assert isinstance(found, Miss)
        assert found.problem == f"No repository for `X` for configuration mode={asked}"
        return
    assert isinstance(found, Choice)
    assert (found.mode, getattr(found.repository, "name", "")) == (best, str(best))
    assert not (T in asked and I in found.mode), "training never uses a kernel for inference"
    assert not (C in asked and found.mode not in {I | C, T | C, Mode.FALLBACK})


@pytest.mark.parametrize("asked", SERVES, ids=str)
@pytest.mark.parametrize("registered", [m for m in REGISTERED if m != Mode.FALLBACK], ids=str)
def test_mode_that_nothing_serves_falls_back_or_raises(registered: Mode, asked: Mode) -> None:
    replaceable = model()
    with use_kernel_mapping({"Scale": {"cpu": {registered: Offer()}}}):
        if registered in SERVES[asked]:
            kernelize(replaceable, mode=asked, use_fallback=False)
            assert replaceable[0](ONES).tolist() == [103, 103]
            return
        with pytest.raises(ValueError, match="No repository for `Scale` for configuration mode="):
            kernelize(replaceable, mode=asked, use_fallback=False)
        kernelize(replaceable, mode=asked)
    assert replaceable[0](ONES).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (I, T, "Mode.INFERENCE and Mode.TRAINING are mutually exclusive."),
        (I | C, T, "Mode.INFERENCE and Mode.TRAINING are mutually exclusive."),
        (Mode.FALLBACK, I, "Mode.FALLBACK cannot be combined with other modes."),
        (C, Mode.FALLBACK, "Mode.FALLBACK cannot be combined with other modes."),
    ],
)
def test_illegal_combination_raises(left: Mode, right: Mode, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        left | right


LEGAL = (
    "legal modes: Mode.INFERENCE, Mode.TRAINING, "
    "Mode.INFERENCE | Mode.TORCH_COMPILE, Mode.TRAINING | Mode.TORCH_COMPILE"
)


@pytest.mark.parametrize(
    ("mode", "error", "message"),
    [
        pytest.param(None, TypeError, "missing 1 required keyword-only argument: 'mode'"),
        pytest.param("inference", TypeError, "'inference' is not a mode"),
        pytest.param(
            Mode.FALLBACK, ValueError, "Mode.FALLBACK can only be used to register kernel mappings."
        ),
        pytest.param(C, ValueError, "kernelize mode must contain Mode.INFERENCE or Mode.TRAINING."),
        pytest.param(
            Mode(0), ValueError, "kernelize mode must contain Mode.INFERENCE or Mode.TRAINING."
        ),
        pytest.param(Mode(6), ValueError, "Unsupported mode"),
    ],
)
def test_mode_that_cannot_be_kernelized_for_lists_the_legal_ones(
    mode: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        parse_mode(mode)
    assert message in str(caught.value)
    assert LEGAL in str(caught.value)


def test_kernelize_without_mode_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"legal modes: Mode\.INFERENCE"):
        kernelize(model())
