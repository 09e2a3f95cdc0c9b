from __future__ import annotations

from dataclasses import replace

import pytest

from kernelmill.builder.hip.errors import HipToolchainError, UnsupportedArchError
from kernelmill.builder.hip.toolchain import (
    HipToolchain,
    Place,
    Surroundings,
    Trial,
    choose,
    order_places,
    require,
)

NOTHING = Surroundings(
    pip_sdk=None, rocm_variable=None, hipcc=None, opt_folders=(), clangs=(), zig=None
)
ZIG = HipToolchain(
    kind="zig",
    command=("/venv/ziglang/zig", "clang"),
    version_text="clang version 22.1.8 (ziglang)",
    rocm_root=None,
    archs=("gfx90a", "gfx942", "gfx950"),
)


def trial(toolchain: HipToolchain | None = None, objection: str = "") -> Trial:
    place = Place(label="here", kind="zig", path=None)
    return Trial(place=place, toolchain=toolchain, objection=objection)


def test_every_place_is_listed_with_none_when_nothing_is_there() -> None:
    places = order_places(NOTHING)
    assert [place.label for place in places] == [
        "ROCm SDK from pip",
        "ROCM_PATH or ROCM_HOME",
        "hipcc on PATH",
        "ROCm SDK in /opt",
        "clang on PATH",
        "Python package ziglang",
    ]
    assert {place.path for place in places} == {None}


def test_places_are_ordered_when_everything_is_there() -> None:
    places = order_places(
        Surroundings(
            pip_sdk="/venv/_rocm_sdk_devel",
            rocm_variable=("ROCM_PATH", "/sdk"),
            hipcc="/opt/rocm-6.2.0/bin/hipcc",
            opt_folders=("/opt/rocm-6.2.0", "/opt/rocm-6.10.1", "/opt/rocm"),
            clangs=("/usr/bin/clang++-19",),
            zig="/venv/ziglang/zig",
        )
    )
    assert [(place.kind, place.path) for place in places] == [
        ("rocm", "/venv/_rocm_sdk_devel"),
        ("rocm", "/sdk"),
        ("rocm", "/opt/rocm-6.2.0"),
        ("rocm", "/opt/rocm"),
        ("rocm", "/opt/rocm-6.10.1"),
        ("rocm", "/opt/rocm-6.2.0"),
        ("clang", "/usr/bin/clang++-19"),
        ("zig", "/venv/ziglang/zig"),
    ]


def test_first_that_works_is_chosen_when_earlier_ones_do_not() -> None:
    assert choose([trial(objection="broken"), trial(ZIG), trial(ZIG)]) is ZIG
    assert choose([trial(objection="broken")]) is None


def test_require_lists_what_was_tried_when_nothing_works() -> None:
    with pytest.raises(HipToolchainError) as caught:
        require([trial(objection="not found"), trial(objection="does not run")])
    assert str(caught.value) == (
        "no compiler for AMD GPUs; tried:\n    here: not found\n    here: does not run\n"
        '  hint: pip install ".[builder]" in a clone of kernelmill (brings ziglang), or a ROCm SDK'
    )
    assert caught.value.exit_code == 3


def test_later_compiler_is_chosen_when_only_it_can_target_the_arch() -> None:
    older = replace(ZIG, kind="clang", archs=("gfx942",))
    trials = [trial(older), trial(ZIG)]
    assert choose(trials, ["gfx942"]) is older
    assert choose(trials, ["gfx942", "gfx950"]) is ZIG
    assert require(trials, ["gfx950"]) is ZIG


def test_require_names_the_arch_when_no_compiler_can_target_it() -> None:
    with pytest.raises(UnsupportedArchError, match=r"build\.toml:9: 'gfx9999' is not an arch"):
        require([trial(ZIG)], ["gfx9999"], where="build.toml:9")


def test_arch_is_suggested_when_one_character_is_wrong() -> None:
    (fault,) = ZIG.check_archs(["gfx9422"])
    assert fault.hint == "did you mean gfx942?"


def test_archs_are_accepted_when_they_carry_features() -> None:
    assert ZIG.check_archs(["gfx942", "gfx90a:sramecc+:xnack-"]) == ()


def test_archs_are_refused_by_name_when_compiler_lacks_them() -> None:
    (fault,) = ZIG.check_archs(["gfx942", "gfx9999"], where="build.toml:9 kernel.k.rocm-archs[1]")
    assert str(fault) == (
        "build.toml:9 kernel.k.rocm-archs[1]: 'gfx9999' is not an architecture that"
        " clang version 22.1.8 (ziglang) can target\n  hint: one of gfx90a gfx942 gfx950"
    )
