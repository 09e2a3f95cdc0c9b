"""A variant built against the headers of a PyTorch that is not installed, for an old glibc."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest
from tests.integration.test_build import BARE

from kernelmill.binary import elf
from kernelmill.binary.symbols import Linkage, read_linkage

VARIANT: Final = "torch299-cxx11-cpu-x86_64-linux"
"""Of a release that does not exist: the installed one is packed under its number."""
POLICY: Final = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
"""What manylinux_2_28 allows."""
SOURCE: Final = """\
#include <c10/util/Exception.h>

#include <charconv>
#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <memory_resource>
#include <random>
#include <regex>
#include <sys/stat.h>

// Parts of the C++ library that GCC 8 lacked, exceptions through torch, and thread-local state.
extern "C" __attribute__((visibility("default"))) int try_all(const char* folder, char* out) {
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::string text(&memory);
  char digits[32];
  const double tenth = 0.1 + std::random_device()() * 0.0;
  const auto end = std::to_chars(digits, digits + sizeof digits, tenth);
  text.append(digits, end.ptr);
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    text += entry.path().filename().string();
  struct stat status;
  if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) return 1;
  std::condition_variable condition;
  condition.notify_all();
  if (!std::regex_search(std::string(text), std::regex("^0\\\\.1file$"))) return 2;
  try {
    TORCH_CHECK(false, "thrown on purpose, ", 42);
  } catch (const c10::Error& error) {
    std::string(error.what_without_backtrace()).copy(out, 100);
    return 0;
  }
  return 3;
}
int answer() { return 42; }
"""
LOADER: Final = """
import ctypes, sys, torch
out = ctypes.create_string_buffer(128)
status = ctypes.CDLL(sys.argv[1]).try_all(sys.argv[2].encode(), out)
print(status, out.value.decode())
"""


def run(env: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernelmill.builder", *map(str, arguments)],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pack what is installed: no network is needed, and the headers fit the libraries."""
    folder = tmp_path_factory.mktemp("wheels")
    torch = package_folder("torch")
    libraries = [torch / "lib" / name for name in ("libc10.so", "libtorch.so", "libtorch_cpu.so")]
    headers = [
        it for part in ("c10", "torch/headeronly") for it in (torch / "include" / part).rglob("*.h")
    ]
    with zipfile.ZipFile(folder / "torch-2.99.0-cp311-cp311-linux_x86_64.whl", "w") as wheel:
        for file in (*libraries, *headers):
            wheel.write(file, f"torch/{file.relative_to(torch)}")
        version = (torch / "version.py").read_text()
        renamed = re.sub(r"(?m)^(__version__ = ').*'", r"\g<1>2.99.0+made.up'", version)
        assert renamed != version
        wheel.writestr("torch/version.py", renamed)
    name = "lib/libc/glibc/abilists"
    with zipfile.ZipFile(folder / "ziglang-0.17.1-py3-none-any.whl", "w") as wheel:
        wheel.write(package_folder("ziglang") / name, f"ziglang/{name}")
    return folder


@pytest.fixture(scope="module")
def env(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a store with both SDKs."""
    found = {
        **os.environ,
        "KERNELMILL_SDKS": str(tmp_path_factory.mktemp("sdks")),
        "PYTHONPATH": os.pathsep.join(it for it in sys.path if it),
    }
    done = run(found, "sdk", "fetch", "torch-2.99.0", "abi-stubs-2.28", "--from", wheels)
    assert done.returncode == 0, done.stderr
    assert "torch-2.99.0: making a stub of libtorch_cpu.so" in done.stderr
    return found


@pytest.fixture(scope="module")
def built(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the variant."""
    root = tmp_path_factory.mktemp("sdk-kernel")
    for path, text in {**BARE, "src/host.cpp": SOURCE}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    done = run(env, "build", root, "--variant", VARIANT, "--manylinux", "--json")
    assert done.returncode == 0, done.stderr
    assert f"building {VARIANT} with " in done.stderr
    assert ", against the headers of torch 2.99.0+made.up\n" in done.stderr
    (outcome,) = json.loads(done.stdout)["variants"]
    assert (outcome["cross"], outcome["installed"], outcome["manylinux"]) == (True, False, True)
    return Path(outcome["folder"])


def linkage(folder: Path) -> Linkage:
    (extension,) = folder.glob("*.so")
    return read_linkage(elf.parse(extension.read_bytes()))


def test_build_says_what_it_was_compiled_against(built: Path) -> None:
    assert built.name == VARIANT
    record = json.loads((built / "metadata.json").read_text())["kernelmill"]
    assert record["cross"] is True
    assert {"build.toml", "torch-2.99.0+made.up", "abi-stubs-2.28"} <= set(record["inputs"])
    assert "torch-2.99.0-cp311-cp311-linux_x86_64.whl" in record["inputs"]


def test_build_keeps_to_manylinux_2_28(built: Path) -> None:
    found = linkage(built)
    for family, version in found.version_floors.items():
        assert version <= POLICY[family], family
    torch = ("_ZN3c10", "_ZNK3c10", "_ZTVN3c10", "_ZTIN3c10")
    weak_hooks = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__"}
    unversioned = {it.name for it in found.undefined if not it.version} - weak_hooks
    assert {it for it in unversioned if not it.startswith((*torch, "Py", "_Py"))} == set()
    assert "libstdc++.so.6" in found.needed
    assert found.runpath == found.rpath == ()


def test_build_runs_in_the_real_torch(built: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (extension,) = built.glob("*.so")
    done = subprocess.run(
        [sys.executable, "-c", LOADER, str(extension), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 thrown on purpose, 42\n"


def test_symbol_that_torch_does_not_export_is_refused(env: dict[str, str], tmp_path: Path) -> None:
    source = "namespace c10 { int nobody(); }\nint answer() { return c10::nobody(); }\n"
    for path, text in {**BARE, "src/host.cpp": source}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    done = run(env, "build", tmp_path, "--variant", VARIANT)
    assert done.returncode == 1
    assert "the PyTorch at hand does not export _ZN3c106nobodyEv" in done.stderr
    assert not (tmp_path / "build").exists()


def test_sdks_are_listed_and_verified(env: dict[str, str]) -> None:
    assert run(env, "sdk", "verify").stdout == (
        "abi-stubs-2.28: as it was made\ntorch-2.99.0+made.up: as it was made\n"
    )
    document = json.loads(run(env, "sdk", "list", "--json").stdout)
    assert document["version"] == 1
    assert [it["name"] for it in document["sdks"]] == ["abi-stubs-2.28", "torch-2.99.0+made.up"]
    assert "torch-2.12.0" in document["available"]
    extra = Path(env["KERNELMILL_SDKS"]) / "abi-stubs-2.28/tree/lib/extra"
    extra.write_text("")
    done = run(env, "sdk", "verify", "abi-stubs-2.28")
    extra.unlink()
    assert done.returncode == 1
    assert done.stdout.startswith("abi-stubs-2.28: NAR sha256 is ")
    again = run(env, "sdk", "fetch", "abi-stubs-2.28")
    assert again.returncode == 0
    assert "abi-stubs-2.28 is here already; --force makes it again" in again.stderr
