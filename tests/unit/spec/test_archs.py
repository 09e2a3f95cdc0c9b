from __future__ import annotations

import pytest

from kernelmill.builder.hip.archs import KNOWN_ARCHS
from kernelmill.spec.archs import (
    GENERIC_TARGETS,
    ArchChoice,
    Gfx,
    check_archs,
    covers_gfx,
    select_capabilities,
)
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InputError, InvalidName
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
        (("9.0a+PTX",), "10.0", False),
        (("9.0a+PTX",), "9.0", True),
        (("10.0f+PTX",), "12.0", False),
        (("whatever",), "9.0", True),
    ],
)
def test_cuda_code_runs_by_nvidias_rules(archs: tuple[str, ...], device: str, fits: bool) -> None:
    # D1
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
        (("gfx942",), "gfx942:sramecc+:xnack-", True),
        (("gfx942:xnack+",), "gfx942:sramecc+:xnack-", False),
        (("gfx942:sramecc+:xnack-",), "gfx942:sramecc+:xnack-", True),
        (("gfx90a:xnack+",), "gfx90a", True),
        (("gfx9-generic",), "gfx906", True),
        (("gfx9-generic",), "gfx908", False),
        (("gfx9-generic",), "gfx942", False),
        (("gfx9-4-generic",), "gfx942:sramecc+:xnack-", True),
        (("gfx9-4-generic:xnack+",), "gfx950:sramecc+:xnack-", False),
        (("gfx10-1-generic",), "gfx1030", False),
        (("gfx11-generic",), "gfx1151", True),
        (("gfx11-generic",), "gfx11-generic", True),
        (("gfx12-generic",), "gfx1250", False),
        (("gfx12-5-generic",), "gfx1251", True),
        (("gfx1100",), "gfx11-generic", False),
        (("amdgcnspirv",), "gfx1036", True),
        (("amdgcnspirv",), "AMD Instinct MI300X", False),
    ],
)
def test_rocm_code_runs_on_its_own_processor(
    archs: tuple[str, ...], device: str, fits: bool
) -> None:
    # D4
    assert (check_archs(archs, Backend.ROCM, devices(device)) == "") is fits


def test_every_unfit_device_is_named() -> None:
    # D8
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


def test_one_fit_device_is_enough_when_the_policy_says_so() -> None:
    # D8: gfx942 and gfx1100 in one machine.
    mixed = devices("gfx1100", "gfx942")
    assert check_archs(("gfx942",), Backend.ROCM, mixed, policy="any") == ""
    assert check_archs(("gfx942",), Backend.ROCM, mixed, policy="all") == (
        "no code for device 0 (gfx1100); it has code for gfx942"
    )
    assert check_archs(("gfx90a",), Backend.ROCM, mixed, policy="any") == (
        "no code for device 0 (gfx1100), 1 (gfx942); it has code for gfx90a"
    )


def test_masked_device_is_not_asked() -> None:
    # D8: with a mask of visible devices, only those are the machine's.
    assert check_archs(("gfx942",), Backend.ROCM, devices("gfx1100", "gfx942")[1:]) == ""


def test_generic_targets_hold_processors_that_exist_and_no_two_share_one() -> None:
    members = [arch for it in GENERIC_TARGETS.values() for arch in it]
    assert set(members) <= KNOWN_ARCHS
    assert len(members) == len(set(members))


@pytest.mark.parametrize("arch", sorted({*KNOWN_ARCHS, "gfx9-generic"}))
def test_code_for_a_target_covers_that_target(arch: str) -> None:
    assert covers_gfx(arch, arch)


def test_processors_are_told_apart_that_share_a_capability() -> None:
    # R11: PyTorch gives 9.0 for all three.
    names = ["gfx1201", "gfx90a:xnack-", "gfx906", "gfx1030", "gfx942", "gfx908"]
    assert list(map(str, sorted(map(Gfx.parse, names)))) == [
        *("gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1201")
    ]


@pytest.mark.parametrize("name", ["gfx11-generic", "gfx90", "9.0", "AMD Instinct MI300X", ""])
def test_processor_is_refused_when_it_is_not_one(name: str) -> None:
    with pytest.raises(InvalidName) as caught:
        Gfx.parse(name, where="here")
    assert str(caught.value) == (
        f"here: {name!r} is not an AMD processor\n"
        "  hint: write one processor, such as gfx942 or gfx90a"
    )


@pytest.mark.parametrize(
    ("wanted", "toolkit", "kept", "dropped"),
    [
        pytest.param(("8.0", "9.0a"), (11, 8), ("8.0",), ("9.0a",), id="a-needs-12"),
        pytest.param(("8.0", "9.0a"), (12, 0), ("8.0", "9.0a"), (), id="both"),
        pytest.param(("9.0", "10.0f"), (12, 8), ("9.0",), ("10.0f",), id="f-needs-12.9"),
        pytest.param(("7.0", "7.5"), (13, 0), ("7.5",), ("7.0",), id="dropped-by-13"),
        pytest.param(("10.1", "11.0"), (13, 0), ("11.0",), ("10.1",), id="renamed-by-13"),
        pytest.param(("10.1", "11.0"), (12, 8), ("10.1",), ("11.0",), id="not-yet-renamed"),
        pytest.param(("3.5", "8.0"), (12, 4), ("8.0",), ("3.5",), id="old"),
        pytest.param(("12.0+PTX", "x"), (12, 8), ("12.0+PTX",), ("x",), id="unreadable"),
        pytest.param((), (12, 8), (), (), id="nothing-wanted"),
    ],
)
def test_toolkit_makes_the_capabilities_it_knows(
    wanted: tuple[str, ...],
    toolkit: tuple[int, int],
    kept: tuple[str, ...],
    dropped: tuple[str, ...],
) -> None:
    # D10
    assert select_capabilities(wanted, toolkit) == ArchChoice(kept=kept, dropped=dropped)


def test_toolkit_that_knows_no_wanted_capability_is_an_error() -> None:
    # D10
    with pytest.raises(InputError) as caught:
        select_capabilities(("9.0a",), (11, 8), where="build.toml:9")
    assert str(caught.value) == (
        "build.toml:9: CUDA 11.8 compiles for none of 9.0a\n"
        "  hint: use another CUDA toolkit, or add a capability that it knows"
    )
