from __future__ import annotations

import pytest

from kernelmill.runtime.archs import check_archs
from kernelmill.spec.backend import Backend
from kernelmill.spec.host import Device


def devices(*archs: str) -> tuple[Device, ...]:
    return tuple(Device(arch=arch) for arch in archs)


@pytest.mark.parametrize(
    ("archs", "device", "fits"),
    [
        (("8.0", "9.0a"), "10.0", False),
        (("8.0", "9.0a"), "7.5", False),
        (("8.0", "9.0a"), "9.0", True),
        (("8.0", "9.0a"), "8.0", True),
        (("8.0", "9.0a"), "8.6", True),
        (("9.0a",), "9.1", False),
        (("8.6",), "8.0", False),
        (("10.0f",), "10.3", True),
        (("10.3f",), "10.0", False),
        (("8.0+PTX",), "12.0", True),
        (("8.0+PTX",), "7.5", False),
        (("whatever",), "9.0", True),
    ],
)
def test_cuda_code_runs_by_nvidias_rules(archs: tuple[str, ...], device: str, fits: bool) -> None:
    objection = check_archs(archs, Backend.CUDA, devices(device))
    assert objection == (
        "" if fits else f"no code for device 0 ({device}); it has code for {', '.join(archs)}"
    )


@pytest.mark.parametrize(
    ("archs", "device", "fits"),
    [
        (("gfx942",), "gfx942", True),
        (("gfx942:sramecc+",), "gfx942", True),
        (("gfx90a", "gfx942"), "gfx90a", True),
        (("gfx90a",), "gfx90", False),
        (("gfx942",), "gfx950", False),
    ],
)
def test_rocm_code_runs_on_its_own_processor(
    archs: tuple[str, ...], device: str, fits: bool
) -> None:
    assert (check_archs(archs, Backend.ROCM, devices(device)) == "") is fits


def test_every_unfit_device_is_named() -> None:
    found = check_archs(("gfx942",), Backend.ROCM, devices("gfx942", "gfx1100", ""))
    assert found == "no code for device 1 (gfx1100), 2 (unknown arch); it has code for gfx942"


@pytest.mark.parametrize(
    ("archs", "backend", "device"),
    [
        pytest.param(None, Backend.ROCM, "gfx942", id="no-list"),
        pytest.param((), Backend.ROCM, "gfx942", id="empty-list"),
        pytest.param(("x",), Backend.CPU, "gfx942", id="other-backend"),
    ],
)
def test_nothing_is_objected_when_there_is_nothing_to_compare(
    archs: tuple[str, ...] | None, backend: Backend, device: str
) -> None:
    assert check_archs(archs, backend, devices(device)) == ""


def test_nothing_is_objected_when_there_is_no_device() -> None:
    assert check_archs(("gfx942",), Backend.ROCM, ()) == ""
