"""Y13, S1, S2: what is registered, where it holds, and what becomes of bad entries."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from tests.unit.layers.models import ONES, Offer, Scale, model

from kernelmill.runtime import api
from kernelmill.runtime.layers import (
    Device,
    LayerRepository,
    Mode,
    kernelize,
    register_kernel_mapping,
    use_kernel_mapping,
)
from kernelmill.runtime.layers.mapping import current_table


def kernelized(**options: Any) -> list[float]:  # noqa: ANN401
    layer = kernelize(Scale(), mode=Mode.INFERENCE, **options)
    return layer(ONES).tolist()  # type: ignore[no-any-return]


KERNEL, ORIGINAL = [103.0, 103.0], [3.0, 3.0]


def test_registered_mapping_holds_until_it_is_replaced() -> None:
    assert kernelized() == ORIGINAL
    register_kernel_mapping({"Scale": {"cpu": Offer()}})
    register_kernel_mapping({"Other": {"cpu": Offer()}})
    assert kernelized() == KERNEL
    register_kernel_mapping({"Other": {"cpu": Offer()}}, inherit_mapping=False)
    assert kernelized() == ORIGINAL


def test_context_ends_even_after_an_error() -> None:
    def fail() -> None:
        assert kernelized() == KERNEL
        raise RuntimeError

    with pytest.raises(RuntimeError), use_kernel_mapping({"Scale": {"cpu": Offer()}}):
        fail()
    assert kernelized() == ORIGINAL


def test_contexts_nest_and_inherit_as_asked() -> None:
    register_kernel_mapping({"Scale": {"cpu": Offer()}})
    context = use_kernel_mapping({"Other": {"cpu": Offer()}})
    with context:
        assert set(current_table().layers) == {"Scale", "Other"}
        with use_kernel_mapping({"Third": {"cpu": Offer()}}, inherit_mapping=False):
            assert set(current_table().layers) == {"Third"}
            assert kernelized() == ORIGINAL
            register_kernel_mapping({"Scale": {"cpu": Offer()}})
            assert kernelized() == KERNEL
        assert set(current_table().layers) == {"Scale", "Other"}
        with context:
            assert kernelized() == KERNEL
    assert set(current_table().layers) == {"Scale"}


def test_other_devices_and_modes_of_a_layer_are_kept() -> None:
    first, second = Offer(name="first"), Offer(name="second")
    devices: dict[str, Any] = {"cpu": {Mode.INFERENCE: first}, "cuda": first}
    register_kernel_mapping({"Scale": devices})
    register_kernel_mapping({"Scale": {Device("cpu"): {Mode.TRAINING: second}}})
    entries = current_table().layers["Scale"].devices
    assert set(entries) == {"cpu", "cuda"}
    (cpu,) = entries["cpu"]
    assert cpu.repositories == {Mode.TRAINING: second}, "the entry is replaced, not mixed"


def test_registering_reaches_other_threads_and_a_context_does_not() -> None:
    seen = list[list[float]]()

    def look() -> None:
        thread = threading.Thread(target=lambda: seen.append(kernelized()))
        thread.start()
        thread.join()

    with use_kernel_mapping({"Scale": {"cpu": Offer()}}):
        look()
    register_kernel_mapping({"Scale": {"cpu": Offer()}})
    look()
    assert seen == [ORIGINAL, KERNEL]


def test_contexts_of_tasks_do_not_mix() -> None:
    async def task(*, has_kernel: bool) -> list[float]:
        mapping: dict[str, Any] = {"Scale": {"cpu": Offer()}} if has_kernel else {}
        with use_kernel_mapping(mapping):
            await asyncio.sleep(0)
            return kernelized()

    async def both() -> list[list[float]]:
        return list(await asyncio.gather(task(has_kernel=True), task(has_kernel=False)))

    assert asyncio.run(both()) == [KERNEL, ORIGINAL]


def test_threads_that_register_at_once_lose_nothing() -> None:
    barrier = threading.Barrier(8)

    def register(number: int) -> None:
        barrier.wait()
        for step in range(20):
            register_kernel_mapping({f"{number}-{step}": {"cpu": Offer()}})

    threads = [threading.Thread(target=register, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(current_table().layers) == 160


BAD = [
    pytest.param(
        {"Scale": {"warp": Offer()}},
        "['Scale']['warp']: Unknown device type: warp",
        id="device-type",
    ),
    pytest.param(
        {"Scale": {"cpu": "acme/scale"}},
        "['Scale']['cpu']: str 'acme/scale' is not a repository object",
        id="string",
    ),
    pytest.param(
        {"Scale": {"cpu": {Mode.INFERENCE: {"repo_id": "acme/scale"}}}},
        "['Scale']['cpu']: dict {'repo_id': 'acme/scale'} is not a repository object",
        id="dictionary",
    ),
    pytest.param(
        {"Scale": {"cpu": {"inference": Offer()}}},
        "['Scale']['cpu']: str 'inference' is not a mode",
        id="mode-as-text",
    ),
    pytest.param({"Scale": {0: Offer()}}, "['Scale'][0]: int 0 is not a device", id="number"),
    pytest.param({"Scale": "acme/scale"}, "['Scale'] is str 'acme/scale', not a", id="no-devices"),
    pytest.param("acme/scale", "str 'acme/scale' is registered, not a dictionary", id="no-mapping"),
    pytest.param(None, "NoneType None is registered, not a dictionary", id="nothing"),
    pytest.param(
        {"Scale": {Device("warp"): Offer()}},
        "['Scale'][Device(type='warp', properties=None)]: Unknown device type: warp",
        id="device",
    ),
]


@pytest.mark.parametrize(("mapping", "message"), BAD)
def test_bad_entry_is_named_when_a_layer_asks_for_it(mapping: Any, message: str) -> None:  # noqa: ANN401
    """Y13."""
    register_kernel_mapping(mapping)
    for use_fallback in (True, False):
        with pytest.raises(TypeError) as caught:
            kernelize(model(), mode=Mode.INFERENCE, use_fallback=use_fallback)
        assert isinstance(caught.value, ValueError)
        assert message in str(caught.value)
        assert "map layer name -> device -> LayerRepository(...)" in str(caught.value)


def test_bad_entry_of_another_layer_does_no_harm() -> None:
    register_kernel_mapping({"Other": {"warp": Offer()}, "Scale": {"cpu": Offer()}})
    assert kernelized() == KERNEL


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({}, "Either a revision or a version must be specified.", id="neither"),
        pytest.param(
            {"revision": "main", "version": 1},
            "Either a revision or a version must be specified, not both.",
            id="both",
        ),
    ],
)
def test_repository_without_one_pin_is_an_error_of_kernelize(
    arguments: dict[str, Any], message: str
) -> None:
    """Y13: a library that makes such an object can still be imported."""
    repository = LayerRepository("acme/scale", layer_name="Scale", **arguments)
    register_kernel_mapping({"Scale": {"cpu": repository}})
    with pytest.raises(ValueError, match=message) as caught:
        kernelized()
    assert "repository 'acme/scale'" in str(caught.value)


SPELLINGS = [
    "acme/evil",
    "acme/evil@v1:Layer",
    ["acme/evil"],
    {"repo_id": "acme/evil", "layer_name": "Scale", "version": 1},
    {"kernel_mapping": {"Scale": "acme/evil:Scale"}},
    {"Scale": {"cpu": "acme/evil"}},
    {"Scale": {"cpu": {"inference": "acme/evil"}}},
]


@pytest.mark.parametrize("value", SPELLINGS, ids=str)
def test_data_never_names_a_kernel_to_load(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    """S1, S2: nothing that JSON can hold is a repository, wherever it is put."""
    for name in ("get_kernel", "get_local_kernel"):
        monkeypatch.setattr(api, name, lambda *_, **__: pytest.fail("a kernel was loaded"))
    value = json.loads(json.dumps(value))
    mapping: Any
    for mapping in ({"Scale": {"cpu": value}}, {"Scale": {"cpu": {Mode.INFERENCE: value}}}):
        with use_kernel_mapping(mapping), pytest.raises(TypeError, match="kernel mapping: "):
            kernelize(Scale(), mode=Mode.INFERENCE)
    for mapping in (value, {"Scale": value}):
        with use_kernel_mapping(mapping), pytest.raises((TypeError, ValueError)):
            kernelize(Scale(), mode=Mode.INFERENCE, use_fallback=False)


@pytest.mark.parametrize("value", SPELLINGS, ids=str)
def test_what_an_instance_holds_never_names_a_kernel(value: Any) -> None:  # noqa: ANN401
    """S1: only a class can be marked, and classes are code."""
    plain = model()[1]
    for name in ("kernel_layer_name", "kernel_repo", "config", "_attn_implementation"):
        setattr(plain, name, value)
    offer = Offer()
    with use_kernel_mapping({str(value): {"cpu": offer}, "Scale": {"cpu": offer}}):
        kernelize(plain, mode=Mode.INFERENCE)
    assert offer.loads == 0
