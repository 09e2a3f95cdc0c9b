"""All that a build for CUDA has to fetch is named at once, and in the flavour that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import MANIFEST, toolchain, write_kernel

from kernelmill.builder.errors import SdkMissing
from kernelmill.builder.offers import list_offers
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.sources import read_tree
from kernelmill.builder.targets import find_target
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from pathlib import Path

FOR_CUDA = MANIFEST.replace('"rocm"', '"cuda"').replace('rocm-archs = ["gfx942"]', "")


def test_offers_name_toolkit_and_torch_of_a_machine_that_has_neither(tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path, FOR_CUDA))
    found = {str(it.variant): it for it in list_offers(tree, toolchain(), Store(tmp_path / "s"))}
    assert found["torch211-cxx11-cpu-x86_64-linux"].missing == ("torch-2.11.0",)
    cuda = found["torch211-cxx11-cu126-x86_64-linux"]
    assert cuda.missing == ("torch-2.11.0+cu126", "cuda-12.6")
    assert cuda.objection.endswith("; kernel-builder sdk fetch torch-2.11.0+cu126 cuda-12.6")


@pytest.mark.parametrize(
    ("name", "sdk"),
    [
        pytest.param("torch211-cxx11-cu130-x86_64-linux", "torch-2.11.0", id="pypi-is-cuda-13"),
        pytest.param("torch213-cxx11-cu130-x86_64-linux", "torch-2.13.0+cu130", id="known"),
        pytest.param("torch213-cxx11-cu132-x86_64-linux", "torch-2.13.0+cu130", id="same-major"),
        pytest.param("torch213-cxx11-cu126-x86_64-linux", "torch-2.13.0+cu126", id="cuda-12"),
        pytest.param("torch-stable-abi212-cu126-x86_64-linux", "torch-2.12.0", id="stable-abi"),
    ],
)
def test_the_torch_to_fetch_is_for_the_cuda_of_the_variant(
    tmp_path: Path, name: str, sdk: str
) -> None:
    variant = parse_variant(name)
    assert isinstance(variant, ArchVariant)
    with pytest.raises(SdkMissing) as caught:
        find_target(variant, toolchain("2.9.0+cpu"), Store(tmp_path))
    assert caught.value.name == sdk
