from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from kernelmill.runtime import probe
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InvalidVersion


def fake_torch(**attributes: object) -> ModuleType:
    torch = ModuleType("torch")
    for name, value in attributes.items():
        setattr(torch, name, value)
    return torch


def version(**attributes: object) -> SimpleNamespace:
    return SimpleNamespace(**attributes)


MPS = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: True))
NO_MPS = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: False))


@pytest.mark.parametrize(
    ("torch", "expected"),
    [
        pytest.param(
            fake_torch(version=version(cuda=None, hip="7.1.52802-26aae437f6")),
            (Backend.ROCM, (7, 1)),
            id="rocm",
        ),
        pytest.param(
            fake_torch(version=version(cuda="12.8", hip=None)), (Backend.CUDA, (12, 8)), id="cuda"
        ),
        pytest.param(
            fake_torch(version=version(cuda=None, hip=None)), (Backend.CPU, None), id="neither"
        ),
        pytest.param(fake_torch(version=version()), (Backend.CPU, None), id="no-attributes"),
        pytest.param(fake_torch(), (Backend.CPU, None), id="no-version"),
        pytest.param(fake_torch(backends=MPS), (Backend.METAL, None), id="metal"),
        pytest.param(fake_torch(backends=NO_MPS), (Backend.CPU, None), id="no-metal"),
        pytest.param(
            fake_torch(version=version(xpu="20250301")), (Backend.XPU, (2025, 3)), id="xpu"
        ),
        pytest.param(
            fake_torch(version=version(cuda="12.8", hip=None, xpu=None), backends=NO_MPS),
            (Backend.CUDA, (12, 8)),
            id="cuda-with-all-attributes",
        ),
        pytest.param(
            fake_torch(version=version(cuda=None, hip="7.14.60850"), backends=SimpleNamespace()),
            (Backend.ROCM, (7, 14)),
            id="rocm-two-digit-minor-no-mps",
        ),
        pytest.param(fake_torch(version=version(cuda="", hip="")), (Backend.CPU, None), id="empty"),
        pytest.param(fake_torch(neuron=1), (Backend.NEURON, None), id="neuron"),
        pytest.param(fake_torch(backends=SimpleNamespace(tpu=1)), (Backend.TPU, None), id="tpu"),
    ],
)
def test_backend_is_what_torch_was_built_for(
    torch: ModuleType, expected: tuple[Backend, tuple[int, int] | None]
) -> None:
    # V9, V10
    assert probe.backend_of(torch) == expected


def test_npu_is_cann_when_its_plugin_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = fake_torch(_C=SimpleNamespace(_get_privateuse1_backend_name=lambda: "npu"))
    assert probe.backend_of(torch) == (Backend.CPU, None)
    plugin = SimpleNamespace(get_cann_version=lambda: "8.2.RC1")
    for name, module in {
        "torch_npu": ModuleType("torch_npu"),
        "torch_npu.utils": ModuleType("torch_npu.utils"),
        "torch_npu.utils.collect_env": plugin,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    assert probe.backend_of(torch) == (Backend.CANN, (8, 2))
    other = fake_torch(_C=SimpleNamespace(_get_privateuse1_backend_name=lambda: "hip"))
    assert probe.backend_of(other) == (Backend.CPU, None)


def test_backend_version_that_cannot_be_read_is_named() -> None:
    with pytest.raises(InvalidVersion, match="cannot read xpu version 'next'"):
        probe.backend_of(fake_torch(version=version(xpu="next")))


@pytest.mark.parametrize(
    "text",
    [
        "2.13.0.dev20260701+cu130",
        "2.13.0.nv23.05",
        "2.13.0a0+git6c0",
        "2.13.0a0+rocm7.12.0a20260304",
        "2.13.0+rocm6.4.0.git2fb0ac2b",
        "2.13",
    ],
)
def test_release_is_read_from_any_torch(text: str) -> None:
    # V4, V5
    assert probe.release_of(fake_torch(__version__=text)).series == (2, 13)


def test_release_that_cannot_be_read_is_named() -> None:
    with pytest.raises(InvalidVersion, match="torch"):
        probe.release_of(fake_torch(__version__="unknown"))


def test_string_abi_is_unknown_when_torch_does_not_say() -> None:
    # V10
    assert probe.cxx11_abi_of(fake_torch()) is None
    assert probe.cxx11_abi_of(fake_torch(compiled_with_cxx11_abi=lambda: True)) is (
        True if sys.platform == "linux" else None
    )


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("gfx942:sramecc+:xnack-", "gfx942"),
        ("gfx90a", "gfx90a"),
        ("AMD Instinct MI300X", "AMD Instinct MI300X"),
        ("", ""),
    ],
)
def test_rocm_device_is_read_without_its_features(name: str, arch: str) -> None:
    device = probe.device_of(SimpleNamespace(gcnArchName=name), Backend.ROCM)
    assert device.arch == arch


def test_cuda_device_is_its_capability() -> None:
    device = probe.device_of(SimpleNamespace(major=9, minor=0), Backend.CUDA)
    assert device.arch == "9.0"
