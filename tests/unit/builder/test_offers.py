from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.unit.builder.fakes import MANIFEST, toolchain, write_kernel

from kernelmill.builder import toolchain as cli_toolchain
from kernelmill.builder.cli import main
from kernelmill.builder.hip.toolchain import Place, Trial
from kernelmill.builder.offers import list_offers
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.sources import read_tree

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_offers_name_variants_and_say_why_others_are_not_built(tmp_path: Path) -> None:
    manifest = MANIFEST.replace('"rocm"]', '"rocm", "metal"]')
    place = Place(label="clang on PATH", kind="clang", path=None)
    tools = toolchain(hip=(Trial(place=place, toolchain=None, objection="not found"),))
    found = list_offers(
        read_tree(write_kernel(tmp_path, manifest)), tools, Store(tmp_path / "sdks")
    )
    cpu = next(it for it in found if str(it.variant) == "torch213-cxx11-cpu-x86_64-linux")
    rocm = next(it for it in found if str(it.variant) == "torch213-cxx11-rocm71-x86_64-linux")
    (metal,) = (it for it in found if it.backend == "metal")
    assert (cpu.objection, cpu.is_installed) == ("", True)
    assert rocm.objection.startswith("no compiler for AMD GPUs; tried:")
    assert metal.variant is None
    assert metal.objection == (
        "cannot build for metal: it takes Xcode's metal compiler, where `xcrun -find metal` finds "
        "it; `kernel-builder create-pyproject` writes the CMake project to build there"
    )


def test_offers_name_the_archs_of_device_code(tmp_path: Path) -> None:
    found = list_offers(read_tree(write_kernel(tmp_path)), toolchain(), Store(tmp_path / "sdks"))
    archs = {str(it.variant): it.archs for it in found if not it.objection}
    assert archs == {
        "torch213-cxx11-cpu-x86_64-linux": (),
        "torch213-cxx11-rocm64-x86_64-linux": ("gfx942",),
        "torch213-cxx11-rocm71-x86_64-linux": ("gfx942",),
        "torch213-cxx11-rocm72-x86_64-linux": ("gfx942",),
    }


def test_offers_name_the_sdks_that_are_missing(tmp_path: Path) -> None:
    found = list_offers(read_tree(write_kernel(tmp_path)), toolchain(), Store(tmp_path / "sdks"))
    missing = {str(it.variant): it.missing for it in found if it.missing}
    assert missing["torch211-cxx11-cpu-x86_64-linux"] == ("torch-2.11.0",)
    assert missing["torch212-cxx11-rocm64-x86_64-linux"] == ("torch-2.12.0",)
    assert len(missing) == 8
    (cpu,) = (it for it in found if str(it.variant) == "torch211-cxx11-cpu-x86_64-linux")
    assert cpu.objection == (
        "the SDK torch-2.11.0 is not here; kernel-builder sdk fetch torch-2.11.0"
    )


def test_offers_reach_other_platforms_when_asked(tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path))
    found = list_offers(tree, toolchain(), Store(tmp_path / "sdks"), is_everywhere=True)
    (arm,) = (it for it in found if str(it.variant) == "torch213-cxx11-cpu-aarch64-linux")
    assert arm.objection.startswith("cannot build torch213-cxx11-cpu-aarch64-linux: this machine")
    assert arm.objection.endswith("builds for x86_64-linux; build it on aarch64-linux")
    assert arm.missing == ()


def test_matrix_for_ci_has_what_can_be_built_once_its_sdks_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_toolchain, "probe_toolchain", lambda *_, **__: toolchain(hip=()))
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path / "sdks"))
    assert main(["list-variants", str(write_kernel(tmp_path / "kernel")), "--ci-matrix"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1, "an output of a step is one line"
    document = json.loads(printed)
    assert list(document) == ["include"]
    by_name = {it["variant"]: it for it in document["include"]}
    assert by_name["torch213-cxx11-cpu-x86_64-linux"]["sdks"] == ""
    assert by_name["torch212-cxx11-cpu-x86_64-linux"] == {
        "variant": "torch212-cxx11-cpu-x86_64-linux",
        "backend": "cpu",
        "torch": "2.12.0",
        "sdks": "torch-2.12.0",
    }
    assert "torch213-cxx11-rocm71-x86_64-linux" not in by_name, "no compiler for it"
