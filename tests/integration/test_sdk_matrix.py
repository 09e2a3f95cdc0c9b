"""The flagship's whole matrix, with SDKs that were fetched before: `kernel-builder sdk fetch`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from kernelmill.binary import elf
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.sdk.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

NEEDED: Final = ("torch-2.11.0", "torch-2.12.0", "torch-2.13.0", "abi-stubs-2.28")
TORCHES: Final = ("211", "212", "213")
SONAMES: Final = {
    "rocm64": "libamdhip64.so.6",
    "rocm71": "libamdhip64.so.7",
    "rocm72": "libamdhip64.so.7",
}
POLICY: Final = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
"""What manylinux_2_28 allows."""


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build everything with one command, and return the folder of the variants."""
    store = open_store(os.environ)
    missing = [it for it in NEEDED if store.find(*it.rsplit("-", 1)) is None]
    if missing:
        reason = f"first run: kernel-builder sdk fetch {' '.join(missing)}"
        if os.environ.get("KERNELMILL_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("matrix") / "gemm"
    ignore = shutil.ignore_patterns("build", ".kernelmill")
    shutil.copytree(root / "examples" / "gemm", folder, ignore=ignore)
    chosen = ["--all", "--torch", "2.11,2.12,2.13", "--manylinux", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "kernelmill.builder", "build", str(folder), *chosen],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(it for it in sys.path if it)},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)["variants"]
    assert all(it["result"] == "built" for it in outcomes)
    assert {it["installed"] for it in outcomes} >= {False}
    return folder / "build"


@pytest.mark.long
def test_whole_matrix_is_built_by_one_command(built: Path) -> None:
    computes = ("cpu", *SONAMES)
    assert {it.name for it in built.iterdir()} == {
        f"torch{torch}-cxx11-{compute}-x86_64-linux" for torch in TORCHES for compute in computes
    }


@pytest.mark.long
def test_every_variant_needs_its_rocm_and_keeps_to_manylinux(built: Path) -> None:
    for variant in built.iterdir():
        (extension,) = variant.glob("*.so")
        found = read_linkage(elf.parse(extension.read_bytes()))
        runtimes = [it for it in found.needed if it.startswith("libamdhip64")]
        compute = variant.name.split("-")[2]
        assert runtimes == ([SONAMES[compute]] if compute in SONAMES else [])
        for family, version in found.version_floors.items():
            assert family not in POLICY or version <= POLICY[family], variant.name


@pytest.mark.long
def test_metadata_says_which_headers_each_was_compiled_against(built: Path) -> None:
    for variant in built.iterdir():
        record = json.loads((variant / "metadata.json").read_text())["kernelmill"]
        series = f"{variant.name[5]}.{variant.name[6:8]}"
        named = [it for it in record["inputs"] if it.startswith(f"torch-{series}.")]
        if named:
            assert record["cross"] is True
        else:
            assert series == "2.13", "only the installed torch is not an input"
