from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import toolchain, write_kernel

from kernelmill.binary.symbols import Linkage
from kernelmill.builder.backends import rules_for
from kernelmill.builder.check.linkage import check_tvm_ffi
from kernelmill.builder.errors import PlanError, ToolchainError
from kernelmill.builder.offers import list_offers, list_rows
from kernelmill.builder.pipeline import plan_goal
from kernelmill.builder.plan import plan_build
from kernelmill.builder.render import render_project
from kernelmill.builder.request import Goal
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain.tvm_ffi import TvmFfiInstall
from kernelmill.spec.backend import Backend
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.plan import BuildPlan

MANIFEST = """\
[general]
name = "my-scale"
version = 1
edition = 5
license = "MIT"
backends = ["cpu", "rocm"]
python-depends = ["tvm-ffi"]

[tvm-ffi]
src = ["tvm-ffi-ext/binding.cpp"]
pyext = ["json"]

[kernel.scale]
backend = "cpu"
depends = []
src = ["scale.cpp"]

[kernel.scale_rocm]
backend = "rocm"
depends = []
rocm-archs = ["gfx942"]
src = ["scale.hip"]
"""
FILES = {
    "tvm-ffi-ext/binding.cpp": "",
    "tvm-ffi-ext/my_scale/__init__.py": "from ._ops import ops\n",
    "tvm-ffi-ext/my_scale/table.json": "{}",
    "scale.cpp": "",
    "scale.hip": "",
}
INSTALL = TvmFfiInstall(version=(0, 1), include="/tvm/include", library="/tvm/libtvm_ffi.so")


def variant(name: str) -> ArchVariant:
    parsed = parse_variant(name)
    assert isinstance(parsed, ArchVariant)
    return parsed


def plan(root: Path, backend: Backend, install: TvmFfiInstall | None = INSTALL) -> BuildPlan:
    tree = read_tree(write_kernel(root, MANIFEST, FILES))
    return plan_build(tree, toolchain(tvm_ffi=install), rules_for(backend))


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        (Backend.CPU, "tvm-ffi01-cpu-x86_64-linux"),
        (Backend.ROCM, "tvm-ffi01-rocm71-x86_64-linux"),
    ],
    ids=str,
)
def test_variant_names_the_tvm_ffi_that_is_installed(
    tmp_path: Path, backend: Backend, name: str
) -> None:
    assert str(plan(tmp_path, backend).variant) == name


def test_plan_says_what_to_install_when_it_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="TVM FFI is not installed") as caught:
        plan(tmp_path, Backend.CPU, None)
    assert caught.value.hint == "pip install apache-tvm-ffi"


def test_project_includes_nothing_of_torch(tmp_path: Path) -> None:
    files = render_project([plan(tmp_path, Backend.CPU)]).as_text()
    assert "cmake/tvm_ffi.cmake" in files
    assert not any("torch" in path or path.endswith("registration.h") for path in files)
    assert "include(cmake/tvm_ffi.cmake)" in files["CMakeLists.txt"]
    assert "kernel_require_tvm_ffi(0.1)" in files["CMakeLists.txt"]
    assert "tvm_ffi.load_module" in files["cmake/_ops.py.in"]
    assert 'dependencies = ["apache-tvm-ffi==0.1.*"]' in files["pyproject.toml"]
    assert 'package-dir = { "" = "tvm-ffi-ext" }' in files["pyproject.toml"]


def test_plan_needs_no_torch_and_no_sdk(tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path, MANIFEST, FILES))
    bare = replace(toolchain(tvm_ffi=INSTALL), torch=None)
    store = Store(tmp_path / "sdks")
    offers = list_offers(tree, bare, store)
    assert [str(it.variant) for it in offers] == [
        "tvm-ffi01-cpu-x86_64-linux",
        "tvm-ffi01-rocm64-x86_64-linux",
        "tvm-ffi01-rocm71-x86_64-linux",
        "tvm-ffi01-rocm72-x86_64-linux",
    ]
    assert {(it.objection, it.torch, it.is_installed) for it in offers} == {("", "", True)}
    made = plan_goal(Goal.of(variant("tvm-ffi01-rocm72-x86_64-linux")), tree, bare, store=store)
    assert (made.torch, made.against, made.inputs) == (None, "TVM FFI 0.1", {})


def test_offers_say_that_tvm_ffi_is_missing(tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path, MANIFEST, FILES))
    offers = list_offers(tree, toolchain(), Store(tmp_path / "sdks"))
    reason = "TVM FFI is not installed; pip install apache-tvm-ffi"
    assert [(it.variant, it.objection) for it in offers] == [(None, reason)] * 2


def test_variants_of_torch_are_not_built_from_a_kernel_of_tvm_ffi(tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path / "tvm", MANIFEST, FILES))
    tools, store = toolchain(tvm_ffi=INSTALL), Store(tmp_path / "sdks")
    goal = Goal.of(variant("torch212-cxx11-cpu-x86_64-linux"))
    with pytest.raises(PlanError, match=r"with TVM FFI 0\.1 this is tvm-ffi01-cpu"):
        plan_goal(goal, tree, tools, store=store)
    with pytest.raises(PlanError, match="against TVM FFI, not against a torch"):
        list_rows(tree, tools, torches=[(2, 13)])
    goal = Goal.of(variant("tvm-ffi01-cpu-x86_64-linux"))
    with pytest.raises(PlanError, match=r"with torch 2\.13\.0\+cpu this is torch213-cxx11-cpu"):
        plan_goal(goal, read_tree(write_kernel(tmp_path / "torch")), tools, store=store)


def test_extension_without_an_exported_function_is_found() -> None:
    linkage = Linkage(soname="", needed=(), rpath=(), runpath=(), defined=(), undefined=())
    [finding] = check_tvm_ffi(linkage)
    assert finding.problem == "the extension exports no function for TVM FFI"
    assert "TVM_FFI_DLL_EXPORT_TYPED_FUNC" in finding.hint
