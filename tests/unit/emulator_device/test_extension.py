"""Which torch the emulated device accepts, and how its library is found again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kernelmill.emulator.device.errors import TorchError
from kernelmill.emulator.device.extension import check_torch, read_torch_version
from kernelmill.emulator.hip_runtime.compile import (
    Recipe,
    ensure_library,
    find_c_compiler,
    find_cxx_compiler,
)
from kernelmill.emulator.hip_runtime.errors import CompileError

if TYPE_CHECKING:
    from pathlib import Path


def test_version_is_read_when_torch_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "version.py").write_text("__all__ = []\n__version__ = '2.13.0+cpu'\n", "utf-8")
    assert read_torch_version(tmp_path) == "2.13.0+cpu"
    (tmp_path / "version.py").write_text("version = 3\n", "utf-8")
    with pytest.raises(TorchError, match="torch's version is not where it is expected"):
        read_torch_version(tmp_path)
    with pytest.raises(TorchError, match="torch's version cannot be read"):
        read_torch_version(tmp_path / "nowhere")


@pytest.mark.parametrize("version", ["2.13.0+cpu", "2.13.1", "2.13.0a0+gitcf30153"])
def test_torch_is_accepted_when_its_release_was_tested(version: str, tmp_path: Path) -> None:
    check_torch(version, tmp_path, allows_any=False)


@pytest.mark.parametrize("version", ["2.12.1+cpu", "2.14.0.dev20260801", "3.13.0", "unknown"])
def test_torch_is_refused_when_its_release_was_not_tested(version: str, tmp_path: Path) -> None:
    with pytest.raises(TorchError) as caught:
        check_torch(version, tmp_path, allows_any=False)
    assert f"torch {version} was not tested with the emulated device" in str(caught.value)
    assert "tested: 2.13\n" in str(caught.value)
    assert caught.value.hint.endswith("or set KERNELMILL_EMULATOR_ANY_TORCH=1 to try this one")
    check_torch(version, tmp_path, allows_any=True)


@pytest.mark.parametrize("name", ["libtorch_cuda.so", "libtorch_hip.so"])
def test_torch_is_refused_when_it_is_a_gpu_build(name: str, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / name).touch()
    with pytest.raises(TorchError, match=f"torch 2.13.0 is a GPU build .{name}.: "):
        check_torch("2.13.0", tmp_path, allows_any=True)


@pytest.fixture
def compiler() -> tuple[str, ...]:
    try:
        return find_c_compiler(os.environ["PATH"])
    except CompileError as error:
        pytest.skip(str(error))


def recipe(compiler: tuple[str, ...], source: str, *, depends: str = "") -> Recipe:
    flags = ("-shared", "-fPIC", "a.c")
    return Recipe(
        name="liba.so", sources={"a.c": source}, compiler=compiler, flags=flags, depends=depends
    )


def test_library_is_compiled_once_when_nothing_changes(
    compiler: tuple[str, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = ensure_library(recipe(compiler, "int a;"), tmp_path, announce="compiling")
    stamp = first.stat().st_mtime_ns
    assert ensure_library(recipe(compiler, "int a;"), tmp_path, announce="compiling") == first
    assert first.stat().st_mtime_ns == stamp
    assert caplog.messages == ["compiling"]
    assert sorted(path.name for path in first.parent.iterdir()) == [".lock", "liba.so"]
    others = (recipe(compiler, "int b;"), recipe(compiler, "int a;", depends="torch 2.14"))
    assert len({first.parent.name, *(other.key for other in others)}) == 3


def test_compiler_error_is_shown_when_it_fails(compiler: tuple[str, ...], tmp_path: Path) -> None:
    broken = recipe(compiler, "int a = nothing;")
    with pytest.raises(CompileError, match=r"the compiler fails: .*nothing"):
        ensure_library(broken, tmp_path)
    assert [path.name for path in (tmp_path / broken.key).iterdir()] == [".lock"]


def test_cache_is_named_when_it_cannot_be_written(
    compiler: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CompileError, match="the cache cannot be written") as caught:
        ensure_library(recipe(compiler, "int a;"), tmp_path / "file")
    assert caught.value.where == str(tmp_path / "file")


def test_compiler_is_refused_when_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CompileError, match=r"no C\+\+ compiler on PATH: torch's extensions need"):
        find_cxx_compiler(str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(CompileError, match="no C compiler on PATH"):
        find_c_compiler(str(tmp_path))
