"""Y1, Y6, Y15, Y16: what becomes of a model, and what is said about it."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from tests.unit.layers.models import ONES, InferenceOnly, Offer, PlusHundred, Scale, Shifter, model
from torch import nn

from kernelmill.runtime.errors import HubUnreachable, LoadFailed, NotTrusted
from kernelmill.runtime.layers import (
    KernelizeFallback,
    Mode,
    explain,
    kernelize,
    use_kernel_forward_from_hub,
    use_kernel_mapping,
    without_kernels,
)
from kernelmill.spec.errors import DigestMismatch, NoVariant

INFERENCE, TRAINING = Mode.INFERENCE, Mode.TRAINING
MISSING = NoVariant("Cannot find a build variant for this system in acme/offer (revision: v1):")


def mapping(kernel: type[nn.Module] | Exception = PlusHundred, **names: Offer) -> dict[str, Any]:
    return {"Scale": {"cpu": Offer(kernel)}} | {name: {"cpu": it} for name, it in names.items()}


def runs(replaceable: nn.Module) -> str:
    scales = [it for it in replaceable.modules() if isinstance(it, Scale)]
    outcomes = {it(ONES).tolist()[0] for it in scales}
    return {"[103.0]": "kernel", "[3.0]": "original"}.get(str(list(outcomes)), "mixed")


def test_layers_run_the_kernel_with_their_own_parameters() -> None:
    replaceable = model()
    replaceable.get_parameter("2.weight").data.fill_(5)
    with use_kernel_mapping(mapping()):
        assert kernelize(replaceable, mode=INFERENCE) is replaceable
    assert [replaceable[i](ONES).tolist() for i in (0, 2)] == [[103, 103], [105, 105]]


def test_kernel_is_loaded_once_for_all_layers() -> None:
    offer = Offer()
    with use_kernel_mapping({"Scale": {"cpu": offer}}):
        kernelize(nn.Sequential(*(Scale() for _ in range(50))), mode=INFERENCE)
    assert offer.loads == 1


def test_nothing_replaced_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """Y1: with an empty mapping, once for the whole model."""
    kernelize(model(), mode=INFERENCE)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        "kernelize: 0 of 2 layers replaced\n"
        "  No kernel mapping found for layer `Scale`. Check if the layer name matches one of the "
        "kernels in the mapping or add the kernel you want to use to the mapping. "
        "Defaulting to original forward implementation. (2 layers)"
    )


def test_model_without_replaceable_layers_is_said(caplog: pytest.LogCaptureFixture) -> None:
    kernelize(nn.Linear(1, 1), mode=INFERENCE)
    (message,) = caplog.messages
    assert message.startswith(
        "kernelize: 0 of 0 layers replaced\n  No class in the model is marked"
    )


def test_success_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with use_kernel_mapping(mapping()):
        kernelize(model(), mode=INFERENCE)
    assert [it for it in caplog.records if it.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(
    ("entries", "mode", "case", "message"),
    [
        pytest.param({}, INFERENCE, "NO_LAYER", "No layer mapping for `Scale`", id="no-layer"),
        pytest.param(
            {"Scale": {"cuda": Offer()}},
            INFERENCE,
            "NO_DEVICE",
            "No layer mapping for `Scale` with device type `Device(type='cpu', properties=None)`",
            id="no-device",
        ),
        pytest.param(
            {"Scale": {"cpu": {INFERENCE: Offer()}}},
            TRAINING,
            "NO_COMPATIBLE_MODE",
            "No repository for `Scale` for configuration mode=Mode.TRAINING",
            id="no-mode",
        ),
        pytest.param(
            {"Scale": {"cpu": Offer(InferenceOnly)}},
            TRAINING,
            "NO_COMPATIBLE_MODE",
            "Available kernel does not support mode: Mode.TRAINING",
            id="no-backward",
        ),
        pytest.param(
            {"Scale": {"cpu": Offer(InferenceOnly)}},
            INFERENCE | Mode.TORCH_COMPILE,
            "NO_COMPATIBLE_MODE",
            "Available kernel does not support mode: Mode.INFERENCE|TORCH_COMPILE",
            id="no-compile",
        ),
        pytest.param(
            {"Scale": {"cpu": Offer(MISSING)}},
            INFERENCE,
            "CANNOT_LOAD",
            "Cannot find a build variant for this system in acme/offer (revision: v1):",
            id="cannot-load",
        ),
    ],
)
def test_each_case_falls_back_where_it_is_allowed(
    entries: dict[str, Any], mode: Mode, case: str, message: str
) -> None:
    allowed = KernelizeFallback[case]
    with use_kernel_mapping(entries):
        for use_fallback in (allowed, KernelizeFallback.ALL):
            assert runs(kernelize(model(), mode=mode, use_fallback=use_fallback)) == "original"
        for forbidden in (False, KernelizeFallback.NONE, KernelizeFallback.ALL & ~allowed):
            kept = model()
            with pytest.raises((ValueError, FileNotFoundError)) as caught:
                kernelize(kept, mode=mode, use_fallback=forbidden)
            assert message in str(caught.value)
            assert explain(kept).layers[0].reason == "not kernelized"
        if allowed in KernelizeFallback.DEFAULT:
            assert runs(kernelize(model(), mode=mode)) == "original"
        else:
            with pytest.raises(FileNotFoundError):
                kernelize(model(), mode=mode)


@pytest.mark.parametrize("use_fallback", [True, False])
def test_kernel_without_backward_never_trains(*, use_fallback: bool) -> None:
    """Y6: also after a switch to evaluation and back."""
    replaceable = model()
    with use_kernel_mapping(mapping(InferenceOnly)):
        kernelize(replaceable, mode=INFERENCE)
        assert runs(replaceable) == "kernel"
        if not use_fallback:
            with pytest.raises(ValueError, match="Available kernel does not support mode"):
                kernelize(replaceable, mode=TRAINING, use_fallback=False)
            assert runs(replaceable) == "kernel", "an error changes nothing"
            return
        kernelize(replaceable, mode=TRAINING)
    for switch in (replaceable.train, replaceable.eval, replaceable.train):
        switch()
        replaceable.zero_grad()
        replaceable(ONES).sum().backward()
        assert replaceable[0].weight.grad is not None
        assert runs(replaceable) == "original"


@pytest.mark.parametrize(
    ("registered", "what"),
    [(TRAINING, "backward"), (INFERENCE | Mode.TORCH_COMPILE, "torch.compile")],
)
def test_kernel_registered_for_what_it_cannot_do_is_an_error(registered: Mode, what: str) -> None:
    with (
        use_kernel_mapping({"Scale": {"cpu": {registered: Offer(InferenceOnly)}}}),
        pytest.raises(ValueError, match=f"does not support {what}") as caught,
    ):
        kernelize(model(), mode=INFERENCE)
    assert f"Was registered for `Scale` with mode `{registered}`" in str(caught.value)


def test_error_in_the_last_layer_leaves_the_first_as_it_was() -> None:
    replaceable = nn.Sequential(Scale(), Shifter())
    with (
        use_kernel_mapping(mapping(shift=Offer(MISSING))),
        pytest.raises(FileNotFoundError),
    ):
        kernelize(replaceable, mode=INFERENCE)
    assert runs(replaceable) == "original"
    assert "forward" not in vars(replaceable[0])


POLICIES = [
    pytest.param("error", {}, None, id="error"),
    pytest.param("warn", {}, "WARNING", id="warn"),
    pytest.param("silent", {}, "INFO", id="silent"),
    pytest.param(None, {"KERNELS_POLICY": "error"}, None, id="error-in-the-environment"),
    pytest.param(None, {"KERNELS_POLICY": "WARN"}, "WARNING", id="warn-in-the-environment"),
    pytest.param("silent", {"KERNELS_POLICY": "error"}, "INFO", id="argument-first"),
]


@pytest.mark.parametrize(("policy", "environment", "level"), POLICIES)
@pytest.mark.parametrize(
    "error",
    [MISSING, LoadFailed("built for GLIBC 2.38"), HubUnreachable("the Hub does not answer")],
    ids=lambda it: type(it).__name__,
)
def test_policy_says_what_no_build_for_this_machine_means(  # noqa: PLR0917 - pytest names them
    policy: str | None,
    environment: dict[str, str],
    level: str | None,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Y15."""
    caplog.set_level(logging.INFO)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    offer = Offer(error)
    replaceable = model()
    with use_kernel_mapping({"Scale": {"cpu": offer}}):
        if level is None:
            with pytest.raises(ValueError, match="0 of 2 layers replaced: Kernel `acme/offer`"):
                kernelize(replaceable, mode=INFERENCE, policy=policy)
        else:
            kernelize(replaceable, mode=INFERENCE, policy=policy)
    assert runs(replaceable) == "original"
    assert offer.loads == 1, "a failure is not tried again for each layer"
    said = [(it.levelname, it.getMessage()) for it in caplog.records]
    assert [it for it, _ in said] == ([level] if level else [])
    assert all("cannot be loaded: " in text and "(2 layers)" in text for _, text in said)


def test_unknown_policy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'loud' is not a policy") as caught:
        kernelize(model(), mode=INFERENCE, policy="loud")
    assert "use error, warn, silent" in str(caught.value)
    monkeypatch.setenv("KERNELS_POLICY", "loud")
    with pytest.raises(ValueError, match="KERNELS_POLICY: 'loud' is not a policy"):
        kernelize(model(), mode=INFERENCE)


@pytest.mark.parametrize("policy", [None, "warn", "silent"])
@pytest.mark.parametrize(
    "error", [NotTrusted("not from a trusted publisher"), DigestMismatch("File hash mismatch")]
)
def test_no_policy_passes_over_trust_and_digests(policy: str | None, error: Exception) -> None:
    """S3."""
    with use_kernel_mapping(mapping(error)), pytest.raises(type(error)):
        kernelize(model(), mode=INFERENCE, policy=policy, use_fallback=KernelizeFallback.ALL)


def test_policy_does_not_widen_cases_that_the_caller_named() -> None:
    with use_kernel_mapping(mapping(MISSING)), pytest.raises(FileNotFoundError):
        kernelize(model(), mode=INFERENCE, policy="warn", use_fallback=KernelizeFallback.DEFAULT)


def test_policy_error_accepts_what_was_asked_for() -> None:
    unwanted = nn.Sequential(Conditional(is_wanted=False), Conditional(is_wanted=True))
    with use_kernel_mapping({"Conditional": {"cpu": Offer()}}):
        kernelize(unwanted, mode=INFERENCE, policy="error")
    assert [it.origin is not None for it in explain(unwanted).layers] == [False, True]


@pytest.mark.parametrize("text", ["1", "2", "true", "YES"])
def test_environment_switches_kernels_off(
    text: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Y16: zero loads, no warning; the switch is read at the time of the call."""
    caplog.set_level(logging.INFO)
    offer = Offer()
    replaceable = model()
    with use_kernel_mapping({"Scale": {"cpu": offer}}):
        kernelize(replaceable, mode=INFERENCE)
        monkeypatch.setenv("DISABLE_KERNEL_MAPPING", text)
        caplog.clear()
        kernelize(replaceable, mode=INFERENCE, use_fallback=False, policy="error")
        assert runs(replaceable) == "original"
        assert offer.loads == 1
        (record,) = caplog.records
        assert (record.levelname, record.getMessage()) == (
            "INFO",
            f"kernelize: 0 of 2 layers replaced because DISABLE_KERNEL_MAPPING is {text}",
        )
        kernelize(replaceable, mode=INFERENCE, enabled=True)
        assert runs(replaceable) == "kernel", "the argument comes first"


@pytest.mark.parametrize("text", ["0", "", "false", "off", "No"])
def test_environment_can_leave_kernels_on(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_KERNEL_MAPPING", text)
    with use_kernel_mapping(mapping()):
        assert runs(kernelize(model(), mode=INFERENCE)) == "kernel"


def test_argument_and_context_switch_kernels_off() -> None:
    """Y16."""
    offer = Offer()
    with use_kernel_mapping({"Scale": {"cpu": offer}}):
        assert runs(kernelize(model(), mode=INFERENCE, enabled=False)) == "original"
        with without_kernels():
            replaceable = kernelize(model(), mode=INFERENCE)
        assert runs(replaceable) == "original"
        reason = "kernelize was called inside without_kernels()"
        assert {it.reason for it in explain(replaceable).layers} == {reason}
        assert offer.loads == 0
        assert runs(kernelize(model(), mode=INFERENCE)) == "kernel"


@use_kernel_forward_from_hub("Conditional", condition=lambda it: bool(it.is_wanted))
class Conditional(Scale):
    def __init__(self, *, is_wanted: bool) -> None:
        super().__init__()
        self.is_wanted = is_wanted


def test_condition_is_asked_for_every_instance_at_every_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    replaceable = nn.Sequential(Conditional(is_wanted=True), Conditional(is_wanted=False))
    with use_kernel_mapping({"Conditional": {"cpu": Offer()}}):
        kernelize(replaceable, mode=INFERENCE)
        assert [it(ONES)[0].item() for it in replaceable] == [103, 3]
        assert caplog.records == []
        assert explain(replaceable).layers[1].reason == (
            "Skipping kernelization for `Conditional` using `Conditional` due to kernel_condition."
        )
        vars(replaceable[0])["is_wanted"] = False
        kernelize(replaceable, mode=INFERENCE)
    assert [it(ONES)[0].item() for it in replaceable] == [3, 3]


def test_foreign_forward_is_left_alone_where_no_kernel_comes() -> None:
    layer = Scale()
    layer.forward = lambda x: x * 7  # type: ignore[method-assign]
    kernelize(layer, mode=INFERENCE)
    assert layer(ONES).tolist() == [7, 7]


def test_threads_may_kernelize_at_once() -> None:
    replaceable = nn.Sequential(*(Scale() for _ in range(20)))
    errors = list[BaseException]()
    barrier = threading.Barrier(4)

    def work() -> None:
        try:
            barrier.wait()
            with use_kernel_mapping(mapping()):
                kernelize(replaceable, mode=INFERENCE)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test is to see it
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert runs(replaceable) == "kernel"
    assert explain(replaceable).replaced == 20


def test_kernel_trains_when_it_can() -> None:
    replaceable = model()
    with use_kernel_mapping(mapping()):
        kernelize(replaceable, mode=TRAINING)
    replaceable[0](ONES).sum().backward()
    assert replaceable.get_parameter("0.weight").grad.tolist() == [1, 1]  # type: ignore[union-attr]
