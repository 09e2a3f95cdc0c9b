"""Names of build variants."""

from __future__ import annotations

import pytest

from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InvalidVariant
from kernelmill.spec.variant import (
    ArchVariant,
    Compute,
    Framework,
    NoarchVariant,
    Variant,
    parse_variant,
)


def test_arch_variant_is_read_in_all_its_parts() -> None:
    assert parse_variant("torch213-cxx11-rocm71-x86_64-linux") == ArchVariant(
        framework=Framework(kind="torch", version=(2, 13), cxx11_abi=True),
        compute=Compute(backend=Backend.ROCM, version=(7, 1)),
        cpu="x86_64",
        os="linux",
    )


@pytest.mark.parametrize(
    ("text", "kind", "version", "abi"),
    [
        ("torch29-cpu-x86_64-linux", "torch", (2, 9), None),
        ("torch210-cxx98-cpu-x86_64-linux", "torch", (2, 10), False),
        ("torch-stable-abi210-cu130-aarch64-linux", "torch-stable-abi", (2, 10), None),
        ("torch-stable-abi29-metal-aarch64-darwin", "torch-stable-abi", (2, 9), None),
        ("tvm-ffi01-cpu-x86_64-windows", "tvm-ffi", (0, 1), None),
        ("tvm-ffi010-cpu-x86_64-linux", "tvm-ffi", (0, 10), None),
    ],
)
def test_framework_is_read(
    text: str, kind: str, version: tuple[int, int], abi: bool | None
) -> None:
    variant = parse_variant(text)
    assert isinstance(variant, ArchVariant)
    framework = variant.framework
    assert (framework.kind, framework.version, framework.cxx11_abi) == (kind, version, abi)
    assert str(variant) == text


@pytest.mark.parametrize(
    ("name", "backend", "version"),
    [
        ("cpu", Backend.CPU, None),
        ("metal", Backend.METAL, None),
        ("neuron", Backend.NEURON, None),
        ("tpu", Backend.TPU, None),
        ("cu92", Backend.CUDA, (9, 2)),
        ("cu126", Backend.CUDA, (12, 6)),
        ("cu130", Backend.CUDA, (13, 0)),
        ("cu1210", Backend.CUDA, (12, 10)),
        ("rocm64", Backend.ROCM, (6, 4)),
        ("rocm72", Backend.ROCM, (7, 2)),
        ("rocm710", Backend.ROCM, (7, 10)),
        ("rocm712", Backend.ROCM, (7, 12)),
        ("rocm714", Backend.ROCM, (7, 14)),
        ("rocm100", Backend.ROCM, (10, 0)),
        ("rocm1012", Backend.ROCM, (10, 12)),
        ("xpu20253", Backend.XPU, (2025, 3)),
        ("cann82", Backend.CANN, (8, 2)),
    ],
)
def test_compute_is_read_when_versions_have_no_separator(
    name: str, backend: Backend, version: tuple[int, int] | None
) -> None:
    # V7, R1: the last digit alone is not always the minor version.
    variant = parse_variant(f"torch213-{name}-x86_64-linux")
    assert isinstance(variant, ArchVariant)
    assert variant.compute == Compute(backend=backend, version=version)
    assert str(variant.compute) == name


@pytest.mark.parametrize("name", ["cpu", "cuda", "npu", "universal"])
def test_noarch_variant_is_read(name: str) -> None:
    variant: Variant = parse_variant(f"torch-{name}")
    assert variant == NoarchVariant(name=name)
    assert str(variant) == f"torch-{name}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "build",
        "torch",
        "torch-",
        "torch2-cpu-x86_64-linux",
        "torch213-cpu-x86_64",
        "torch213-cpu-x86_64-linux-extra",
        "torch213-cpu-arm64-darwin",
        "torch213-cpu-AMD64-windows",
        "torch213-gpu-x86_64-linux",
        "torch213-cu-x86_64-linux",
        "torch213-cu9-x86_64-linux",
        "torch213-cpu12-x86_64-linux",
        "torch213-rocm07-x86_64-linux",
        "torch213-rocm7001-x86_64-linux",
        "torch2013-cpu-x86_64-linux-",
        "torch203-cpu-x86_64-linux",
        "torch-stable-abi29-cxx11-cpu-x86_64-linux",
        "tvm-ffi-cpu",
        "torch-../evil",
        "torch-cpu/..",
        "torch213-cpu-x86_64-linux\n",
        "torch\u0662\u0661\u0663-cpu-x86_64-linux",
    ],
)
def test_variant_is_refused_when_it_breaks_the_grammar(text: str) -> None:
    with pytest.raises(InvalidVariant) as caught:
        parse_variant(text)
    assert caught.value.problem == f"{text!r} is not the name of a build variant"
    assert isinstance(caught.value, ValueError)
