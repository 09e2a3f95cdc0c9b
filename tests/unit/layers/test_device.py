"""D7, R10, R11: devices, and the ranges and names that entries are for."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import torch
from tests.unit.layers.models import Offer, Scale, model
from torch import nn

from kernelmill.runtime.layers import (
    CUDAProperties,
    Device,
    Mode,
    ROCMProperties,
    explain,
    kernelize,
    use_kernel_mapping,
)
from kernelmill.runtime.layers import kernelize as kernelize_function
from kernelmill.runtime.layers.accelerator import find_device, find_index, probe_accelerator
from kernelmill.runtime.layers.choice import Choice, Miss, choose
from kernelmill.runtime.layers.device import Accelerator, Properties
from kernelmill.runtime.layers.fallback import KernelizeFallback
from kernelmill.runtime.layers.mapping import Table, extended

if TYPE_CHECKING:
    from collections.abc import Callable

KERNELIZE = sys.modules[kernelize_function.__module__]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(
            lambda: Device("cuda", ROCMProperties(90, 95)),
            "ROCMProperties is only supported for 'rocm' devices.",
            id="rocm-on-cuda",
        ),
        pytest.param(
            lambda: Device("rocm", CUDAProperties(75, 90)),
            "CUDAProperties is only supported for 'cuda' devices.",
            id="cuda-on-rocm",
        ),
        pytest.param(
            lambda: Device("cpu", CUDAProperties(75, 90)),
            "CUDAProperties is only supported for 'cuda' devices.",
            id="cuda-on-cpu",
        ),
        pytest.param(
            lambda: CUDAProperties(90, 75),
            r"min_capability \(90\) must be <= max_capability \(75\)",
            id="cuda-range",
        ),
        pytest.param(
            lambda: ROCMProperties(min_capability=95, max_capability=90),
            r"min_capability \(95\) must be <= max_capability \(90\)",
            id="rocm-range",
        ),
        pytest.param(
            lambda: CUDAProperties("75", 90),  # type: ignore[arg-type]
            "min_capability must be a whole number, got '75'",
            id="text",
        ),
        pytest.param(
            lambda: CUDAProperties(75, True),
            "max_capability must be a whole number, got True",
            id="bool",
        ),
        pytest.param(
            lambda: ROCMProperties(archs=["MI300X"]), "unknown arch 'MI300X'", id="marketing"
        ),
        pytest.param(
            lambda: Device("cuda", {"min_capability": 75}),  # type: ignore[arg-type]
            "are not properties of a device",
            id="data",
        ),
    ],
)
def test_impossible_device_is_refused_at_construction(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_devices_are_values() -> None:
    assert Device("cuda", CUDAProperties(75, 90)) == Device("cuda", CUDAProperties(75, 90))
    assert len({Device("cpu"), Device("cpu"), Device("cuda")}) == 2
    assert str(Device("cpu")) == "Device(type='cpu', properties=None)"
    assert repr(ROCMProperties(90, 94)) == "ROCMProperties(min_capability=90, max_capability=94)"
    named = ROCMProperties(90, 94, archs=["gfx942", "gfx90a"])
    assert repr(named).endswith("max_capability=94, archs=['gfx90a', 'gfx942'])")
    assert ROCMProperties(archs="gfx942:sramecc+:xnack-") == ROCMProperties(archs=["gfx942"])
    with pytest.raises(AttributeError):
        Device("cpu").type = "cuda"  # type: ignore[misc]


def chosen(entries: dict[str, Properties | None], accelerator: Accelerator | None) -> str:
    device_type = (
        "rocm" if any(isinstance(it, ROCMProperties) for it in entries.values()) else "cuda"
    )
    devices = {Device(device_type, it): Offer(name=name) for name, it in entries.items()}
    found = choose(
        extended(Table(), {"X": devices}),
        "X",
        mode=Mode.INFERENCE,
        device=Device(device_type),
        probe=lambda: accelerator,
    )
    if isinstance(found, Miss):
        assert found.case is KernelizeFallback.NO_COMPATIBLE_PROPERTIES
        return found.problem
    return str(getattr(found.repository, "name", ""))


def gpu(capability: int, arch: str = "") -> Accelerator:
    return Accelerator(index=0, capability=capability, arch=arch)


ANY = {"any": None, "wide": CUDAProperties(70, 90), "narrow": CUDAProperties(80, 89)}
ROCM = {
    "any": None,
    "range": ROCMProperties(90, 95),
    "mi300": ROCMProperties(archs=["gfx942"]),
    "mi200-and-300": ROCMProperties(archs=["gfx90a", "gfx942"]),
    "old": ROCMProperties(archs=["gfx906"]),
}


@pytest.mark.parametrize(
    ("entries", "accelerator", "expected"),
    [
        pytest.param(ANY, gpu(86), "narrow", id="smallest-wins"),
        pytest.param(ANY, gpu(89), "narrow", id="ends-count"),
        pytest.param(ANY, gpu(90), "wide", id="next"),
        pytest.param(ANY, gpu(120), "any", id="unbounded"),
        pytest.param(ANY, None, "any", id="no-gpu"),
        pytest.param(
            {"a": CUDAProperties(75, 85), "b": CUDAProperties(80, 90)}, gpu(82), "b", id="tie"
        ),
        pytest.param(
            {"a": CUDAProperties(75, 85)},
            gpu(90),
            "No layer mapping for `X` device `Device(type='cuda', properties=None)` "
            "with the right properties",
            id="none-fits",
        ),
        pytest.param(ROCM, gpu(94, "gfx942"), "mi300", id="name-beats-range-and-longer-list"),
        pytest.param(ROCM, gpu(90, "gfx90a"), "mi200-and-300", id="name-in-list"),
        pytest.param(ROCM, gpu(90, "gfx906"), "old", id="same-capability-other-name"),
        pytest.param(ROCM, gpu(90, "gfx908"), "range", id="unnamed-uses-the-range"),
        pytest.param(ROCM, gpu(110, "gfx1100"), "any", id="outside"),
    ],
)
def test_narrowest_entry_that_fits_is_chosen(
    entries: dict[str, Properties | None], accelerator: Accelerator | None, expected: str
) -> None:
    assert chosen(entries, accelerator) == expected
    assert chosen(dict(reversed(entries.items())), accelerator) == expected, "order counts"


def test_same_range_is_replaced() -> None:
    first, second = Offer(), Offer()
    device = Device("cuda", CUDAProperties(75, 90))
    table = extended(extended(Table(), {"X": {device: first}}), {"X": {device: second}})
    found = choose(table, "X", mode=Mode.INFERENCE, device=Device("cuda"), probe=lambda: gpu(80))
    assert isinstance(found, Choice)
    assert found.repository is second


def test_each_device_type_has_its_own_entry_in_any_order() -> None:
    """Y2."""
    entries = {name: Offer(name=name) for name in ("cuda", "rocm", "cpu")}
    for names in (list(entries), list(reversed(entries))):
        table = extended(Table(), {"X": {name: entries[name] for name in names}})
        for name in names:
            found = choose(table, "X", mode=Mode.INFERENCE, device=Device(name), probe=lambda: None)
            assert isinstance(found, Choice)
            assert found.repository is entries[name]


class TwoGpus:
    """Enough of torch.cuda for two GPUs that differ; the current one is the first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, hip: str | None) -> None:
        self.asked = list[int]()
        archs = ("gfx942", "gfx1100") if hip else ("", "")
        self.properties = [
            SimpleNamespace(major=major, minor=minor, gcnArchName=arch)
            for (major, minor), arch in zip(((9, 4), (11, 0)), archs, strict=True)
        ]
        monkeypatch.setattr(torch.version, "hip", hip)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "get_device_properties", self.get)

    def get(self, index: int) -> SimpleNamespace:
        self.asked.append(index)
        return self.properties[index]


def test_gpus_that_differ_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """R10."""
    TwoGpus(monkeypatch, "7.2")
    assert str(probe_accelerator(0)) == "0 (gfx942)"
    assert str(probe_accelerator(1)) == "1 (gfx1100)"
    assert str(probe_accelerator(None)) == "0 (gfx942)"
    TwoGpus(monkeypatch, None)
    assert str(probe_accelerator(1)) == "1 (11.0)"


def test_layers_on_different_gpus_get_their_own_kernel(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """R10, D8: no answer is remembered for the process, and the message names the device."""
    gpus = TwoGpus(monkeypatch, "7.2")
    replaceable = nn.Sequential(Scale(), Scale(), Scale())
    places = {id(layer): index for layer, index in zip(replaceable, (0, 1, 1), strict=True)}
    monkeypatch.setattr(KERNELIZE, "find_index", lambda module: places.get(id(module)))
    mi300 = Offer(name="acme/mi300")
    entries = {Device("rocm", ROCMProperties(archs=["gfx942"])): mi300}
    with use_kernel_mapping({"Scale": entries}):
        kernelize(replaceable, mode=Mode.INFERENCE, device="rocm")
        (message,) = caplog.messages
        assert "1 of 3 layers replaced" in message
        fault = "No kernel for layer `Scale` on rocm fits device 1 (gfx1100)."
        assert f"{fault} (2 layers)" in message
        assert [it.device for it in explain(replaceable).layers] == ["rocm:0", "rocm:1", "rocm:1"]
        assert gpus.asked == [0, 1], "each device is asked once per call"
        with pytest.raises(ValueError, match="with the right properties"):
            kernelize(replaceable, mode=Mode.INFERENCE, device="rocm", use_fallback=False)
    assert gpus.asked == [0, 1, 0, 1], "nothing is remembered between calls"


def test_no_gpu_is_asked_where_entries_do_not_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KERNELIZE, "probe_accelerator", lambda _: pytest.fail("asked a GPU"))
    with use_kernel_mapping({"Scale": {"cuda": Offer()}}):
        replaceable = kernelize(model(), mode=Mode.INFERENCE, device="cuda")
    assert explain(replaceable).replaced == 2


def test_device_is_that_of_the_first_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_device(model(), None) == Device("cpu")
    assert find_device(model(), torch.device("cuda", 1)) == Device("cuda")
    assert find_device(model().to("meta"), None) == Device("meta")
    assert find_index(model()) is None
    monkeypatch.setattr(torch.version, "hip", "7.2")
    assert find_device(model(), torch.device("cuda")) == Device("rocm")
    with pytest.raises(ValueError, match="Cannot determine model device, provide as `device`"):
        find_device(nn.Identity(), None)


def test_unknown_device_type_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"Unsupported device type 'warp'\. Supported device types"
    ):
        kernelize(model(), mode=Mode.INFERENCE, device="warp")


def test_without_a_gpu_there_is_no_accelerator() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert probe_accelerator(None) is None
