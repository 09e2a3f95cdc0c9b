"""The flake without building: what it shows, what it refuses, and what it says of missing SDKs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from tests.integration.flakes import ROOT, VARIANTS, Kernel, made_up_lock, make_kernel
from tests.nix_tools import Nix

if TYPE_CHECKING:
    from pathlib import Path

LIB = f"(import {ROOT}/nix)"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def nix(tmp_path_factory: pytest.TempPathFactory) -> Nix:
    return Nix(folder=tmp_path_factory.mktemp("nix"))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    files = ROOT / "examples/relu-stable"
    return make_kernel(tmp_path_factory.mktemp("kernel"), files, lock=made_up_lock())


def test_update_writes_the_lock_with_the_relative_path(nix: Nix, kernel: Kernel) -> None:
    nix.want("flake", "update", cwd=kernel.folder)
    node = json.loads((kernel.folder / "flake.lock").read_text())["nodes"]["kernel-builder"]
    assert (node["locked"]["type"], node["locked"]["path"]) == ("path", "../..")
    assert node["locked"]["narHash"].startswith("sha256-")


def test_show_lists_upstreams_names(nix: Nix, kernel: Kernel) -> None:
    shown = COLOURS.sub("", nix.want("flake", "show", cwd=kernel.folder))
    names = re.findall(r"([\w-]+)(?=: (?:package|development|app))", shown)
    assert set(names) >= {
        *("default", "bundle", "redistributable", "backendBundle", "ci", "backendCi"),
        *("build-and-copy", "build-and-upload", "test", "devShells", "testShells"),
        *VARIANTS,
    }


def test_variants_come_as_users_would_choose_them(nix: Nix, kernel: Kernel) -> None:
    found = json.loads(nix.want("eval", "--json", ".#variants", cwd=kernel.folder))
    assert found == [VARIANTS[3], VARIANTS[2], VARIANTS[1], VARIANTS[0]]
    arch = json.loads(nix.want("eval", "--json", ".#archVariants", cwd=kernel.folder))
    assert arch == found


@pytest.mark.parametrize(
    "attribute",
    [
        f"redistributable.{VARIANTS[0]}",
        f"packages.x86_64-linux.redistributable.{VARIANTS[0]}",
        VARIANTS[0],
        "backendBundle.rocm",
        "backendCi.cuda",
        "ci",
        f"devShells.x86_64-linux.devShells.{VARIANTS[0]}",
        f"devShells.x86_64-linux.testShells.{VARIANTS[0]}",
    ],
)
def test_every_name_is_a_derivation(nix: Nix, kernel: Kernel, attribute: str) -> None:
    path = nix.want("eval", "--raw", f".#{attribute}.drvPath", cwd=kernel.folder)
    assert path.startswith("/nix/store/")


def test_what_needs_a_running_pytorch_says_so(nix: Nix, kernel: Kernel) -> None:
    done = nix.run("eval", f".#ciTests.{VARIANTS[0]}.drvPath", cwd=kernel.folder)
    assert done.returncode == 1
    assert "is not part of the flake: no PyTorch that runs is pinned" in done.stderr
    assert "hint: kernel-builder test" in done.stderr


def test_missing_sdk_is_named_with_the_command_that_brings_it(nix: Nix, kernel: Kernel) -> None:
    done = nix.run("build", "--no-link", f".#{VARIANTS[0]}", cwd=kernel.folder)
    assert done.returncode == 1
    assert (
        "executing 'this SDK is not in Nix's store, run: kernel-builder nix import cxx-12.2.0'"
        in done.stderr
    )


def test_unrelated_files_do_not_change_a_build(nix: Nix, kernel: Kernel) -> None:
    def derivation() -> str:
        return nix.want("eval", "--raw", f".#{VARIANTS[0]}.drvPath", cwd=kernel.folder)

    # A dirty tree has no commit in this Nix, so that two dirty ones are compared.
    (kernel.repo / "unrelated").write_text("1")
    before = derivation()
    (kernel.folder / "build").mkdir()
    (kernel.folder / "build/x").write_text("x")
    (kernel.repo / "unrelated").write_text("2")
    assert derivation() == before
    source = kernel.folder / "relu/relu_cpu.cpp"
    source.write_text(source.read_text() + "\n")
    assert derivation() != before


def write_kernel(folder: Path) -> None:
    manifest = ROOT / "examples/relu-stable/build.toml"
    (folder / "build.toml").write_bytes(manifest.read_bytes())
    (folder / "build.lock").write_text(made_up_lock())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("inherit self;", "", "genKernelFlakeOutputs needs `self`"),
        ("inherit self;", 'inherit self; rev = "x";', "genKernelFlakeOutputs takes no `rev`"),
        ("inherit self;", "inherit self; torchVersions = [ ];", "is not a function"),
        (
            "inherit self;",
            "inherit self; torchVersions = all: [ ];",
            "`torchVersions` left no variant",
        ),
        ("inherit self;", "inherit self; doGetKernelCheck = 1;", "is neither true nor false"),
        ("inherit self;", "inherit self; what = 1;", "called with unexpected argument 'what'"),
        ("path = ./.;", "path = ./relu;", "no build.toml in"),
    ],
)
def test_wrong_argument_is_refused(
    nix: Nix, tmp_path: Path, old: str, new: str, message: str
) -> None:
    # Nix's own code, without a flake around it: that takes a tenth of the time.
    (tmp_path / "relu").mkdir()
    write_kernel(tmp_path)
    arguments = "{ inherit self; path = ./.; }".replace(old, new)
    (tmp_path / "arguments.nix").write_text(f"let self = {{ }}; in {arguments}")
    expression = f"({LIB}.genKernelFlakeOutputs (import {tmp_path}/arguments.nix))"
    done = nix.run(
        "eval", "--impure", "--expr", f"builtins.attrNames {expression}.packages.x86_64-linux"
    )
    assert done.returncode == 1
    assert message in done.stderr


def variants_of(nix: Nix, outputs: str) -> list[str]:
    expression = f"({outputs}).legacyPackages.x86_64-linux.variants"
    found: list[str] = json.loads(nix.want("eval", "--json", "--impure", "--expr", expression))
    return found


def test_older_name_takes_older_arguments(nix: Nix, tmp_path: Path) -> None:
    write_kernel(tmp_path)
    arguments = f'{{ self = {{ }}; rev = "abc"; path = {tmp_path}; }}'
    assert set(variants_of(nix, f"{LIB}.genFlakeOutputs {arguments}")) == set(VARIANTS)


def test_torch_versions_choose(nix: Nix, tmp_path: Path) -> None:
    write_kernel(tmp_path)
    chosen = 'torchVersions = all: builtins.filter (it: it.torchVersion == "2.9") all;'
    arguments = f"{{ self = {{ }}; path = {tmp_path}; {chosen} }}"
    assert variants_of(nix, f"{LIB}.genKernelFlakeOutputs {arguments}") == [VARIANTS[0]]
