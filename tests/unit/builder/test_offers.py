from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.builder.fakes import MANIFEST, toolchain, write_kernel

from kernelmill.builder.hip.toolchain import Place, Trial
from kernelmill.builder.offers import list_offers
from kernelmill.builder.sources import read_tree

if TYPE_CHECKING:
    from pathlib import Path


def test_offers_name_variants_and_say_why_others_are_not_built(tmp_path: Path) -> None:
    manifest = MANIFEST.replace('"rocm"]', '"rocm", "metal"]')
    place = Place(label="clang on PATH", kind="clang", path=None)
    tools = toolchain(hip=(Trial(place=place, toolchain=None, objection="not found"),))
    cpu, rocm, metal = list_offers(read_tree(write_kernel(tmp_path, manifest)), tools)
    assert str(cpu.variant) == "torch213-cxx11-cpu-x86_64-linux"
    assert cpu.objection == ""
    assert rocm.variant is None
    assert rocm.objection.startswith("no compiler for AMD GPUs; tried:")
    assert metal.objection == (
        "cannot build for metal: it takes Xcode's metal compiler, where `xcrun -find metal` finds "
        "it; `kernel-builder create-pyproject` writes the CMake project to build there"
    )


def test_offers_name_the_archs_of_device_code(tmp_path: Path) -> None:
    _, rocm = list_offers(read_tree(write_kernel(tmp_path)), toolchain())
    assert (str(rocm.variant), rocm.archs) == ("torch213-cxx11-rocm71-x86_64-linux", ("gfx942",))
