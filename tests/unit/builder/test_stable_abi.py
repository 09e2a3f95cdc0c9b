"""Sources for PyTorch's stable ABI (C10): which headers they may include, what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import FILES, MANIFEST, toolchain, write_kernel

from kernelmill.builder.backends import rules_for
from kernelmill.builder.check.manifest import check_manifest
from kernelmill.builder.check.stable_abi import check_stable_headers
from kernelmill.builder.errors import PlanError
from kernelmill.builder.plan import plan_build
from kernelmill.builder.sources import read_tree
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from pathlib import Path

STABLE = MANIFEST.replace("[torch]\n", '[torch]\nstable-abi = { cpu = "2.9" }\n')


@pytest.mark.parametrize(
    "header",
    [
        "torch/extension.h",
        "torch/all.h",
        "torch/library.h",
        "ATen/ATen.h",
        "c10/core/DeviceGuard.h",
        "pybind11/pybind11.h",
        "torch/csrc/api/include/torch/torch.h",
    ],
)
def test_header_of_the_full_abi_is_found(header: str) -> None:
    [finding] = check_stable_headers({"a.cpp": f"// x\n# include <{header}>\n"}, (2, 9))
    assert finding.problem == f"<{header}> does not belong to the stable ABI of PyTorch 2.9"
    assert finding.where == "a.cpp:2"
    assert finding.hint.startswith("rule: with stable-abi, include torch/csrc/stable and")


@pytest.mark.parametrize(
    "text",
    [
        "#include <torch/csrc/stable/library.h>\n",
        "#include <torch/headeronly/util/Exception.h>\n",
        "#include <torch/csrc/inductor/aoti_torch/c/shim.h>\n",
        '#include "registration.h"\n#include <vector>\n',
        "#ifdef FULL_ABI\n#include <torch/all.h>\n#endif\n",
        "#ifndef A_H\n#define A_H\n#if FULL\n#include <torch/all.h>\n#endif\n#endif\n",
        "// #include <torch/all.h>\n",
    ],
)
def test_what_the_stable_abi_allows_is_not_found(text: str) -> None:
    assert check_stable_headers({"a.h": text}, (2, 9)) == ()


def test_include_guard_is_no_condition() -> None:
    text = "#ifndef A_H\n#define A_H\n#include <ATen/ATen.h>\n#endif\n"
    assert [it.where for it in check_stable_headers({"a.h": text}, (2, 9))] == ["a.h:3"]


def test_plan_and_check_config_refuse_the_binding_where_it_is_for_the_stable_abi(
    tmp_path: Path,
) -> None:
    files = FILES | {"torch-ext/binding.cpp": "#include <torch/extension.h>\n"}
    tree = read_tree(write_kernel(tmp_path, STABLE, files))
    with pytest.raises(PlanError, match=r"torch/extension\.h> does not belong") as caught:
        plan_build(tree, toolchain("2.12.1"), rules_for(Backend.CPU))
    assert caught.value.where == "torch-ext/binding.cpp:1"
    assert check_manifest(tree) != ()
    rocm = plan_build(tree, toolchain(), rules_for(Backend.ROCM))
    assert str(rocm.variant) == "torch213-cxx11-rocm71-x86_64-linux"


def test_plan_for_the_stable_abi_tells_every_source_which(tmp_path: Path) -> None:
    plan = plan_build(
        read_tree(write_kernel(tmp_path, STABLE)), toolchain(), rules_for(Backend.CPU)
    )
    assert str(plan.variant) == "torch-stable-abi29-cpu-x86_64-linux"
    for component in (plan.binding, *plan.kernels):
        assert "TORCH_TARGET_VERSION=0x0209000000000000" in component.defines
