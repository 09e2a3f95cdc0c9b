"""Backends and devices."""

from __future__ import annotations

import pytest

from kernelmill.spec.backend import Backend, fp8_format, normalise_gfx
from kernelmill.spec.errors import InvalidBackend, InvalidName


def test_backend_is_read_in_any_case() -> None:
    assert Backend.parse("ROCm") is Backend.ROCM
    assert str(Backend.METAL) == "metal"


def test_backend_offers_the_nearest_when_unknown() -> None:
    with pytest.raises(InvalidBackend) as caught:
        Backend.parse("metall", where="build.toml:4 general.backends[0]")
    assert str(caught.value) == (
        "build.toml:4 general.backends[0]: unknown backend 'metall'\n"
        "  hint: did you mean 'metal'? "
        "allowed: cann, cpu, cuda, metal, neuron, rocm, tpu, xpu"
    )


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("gfx942:sramecc+:xnack-", "gfx942"),
        ("gfx90a:sramecc+:xnack-", "gfx90a"),
        ("gfx90a", "gfx90a"),
        ("gfx1100", "gfx1100"),
        ("gfx11-generic", "gfx11-generic"),
        ("gfx9-4-generic", "gfx9-4-generic"),
        ("gfx1151", "gfx1151"),
    ],
)
def test_gfx_loses_its_flags(name: str, plain: str) -> None:
    # D4
    assert normalise_gfx(name) == plain


@pytest.mark.parametrize(
    "name", ["AMD Instinct MI300X", "", "gfx", "gfx90", "sm_90", "gfx942:", "gfx942:fast+"]
)
def test_gfx_is_refused_when_it_names_no_processor(name: str) -> None:
    # D4
    with pytest.raises(InvalidName) as caught:
        normalise_gfx(name)
    assert caught.value.problem == f"unknown arch {name!r}"


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        ("gfx90a", None),
        ("gfx908", None),
        ("gfx1100", None),
        ("gfx940", "e4m3fnuz"),
        ("gfx941", "e4m3fnuz"),
        ("gfx942", "e4m3fnuz"),
        ("gfx942:sramecc+:xnack-", "e4m3fnuz"),
        ("gfx950", "e4m3fn"),
        ("gfx1200", "e4m3fn"),
        ("gfx1201", "e4m3fn"),
        ("sm_89", "e4m3fn"),
        ("sm_90a", "e4m3fn"),
        ("9.0", "e4m3fn"),
        ("10.0", "e4m3fn"),
        ("sm_100", "e4m3fn"),
        ("8.6", None),
        ("sm_80", None),
        ("gfx9-4-generic", None),
        ("gfx12-generic", "e4m3fn"),
    ],
)
def test_fp8_format_follows_the_device(arch: str, expected: str | None) -> None:
    # F1, F4
    assert fp8_format(arch) == expected


@pytest.mark.parametrize("arch", ["MI300X", "", "gfx", "sm_"])
def test_fp8_format_of_an_unknown_device_is_an_error(arch: str) -> None:
    # F1
    with pytest.raises(InvalidName) as caught:
        fp8_format(arch)
    assert str(caught.value) == (
        f"unknown arch {arch!r}\n  hint: devices are written gfx942, gfx90a, 9.0 or sm_90"
    )
