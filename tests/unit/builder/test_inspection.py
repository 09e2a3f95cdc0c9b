from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.binary.symbols import Linkage, Reference
from kernelmill.builder.errors import SourceError
from kernelmill.builder.inspection import find_binary, floor_symbols

if TYPE_CHECKING:
    from pathlib import Path


def test_find_binary_takes_a_file_or_the_one_extension_of_a_variant(tmp_path: Path) -> None:
    extension = tmp_path / "_relu.abi3.so"
    extension.write_bytes(b"")
    assert find_binary(extension) == extension
    assert find_binary(tmp_path) == extension


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        pytest.param([], "no compiled extension here", id="none"),
        pytest.param(["a.so", "b.so"], "2 compiled extensions here", id="two"),
    ],
)
def test_find_binary_refuses_a_folder(tmp_path: Path, files: list[str], problem: str) -> None:
    for name in files:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(SourceError, match=problem):
        find_binary(tmp_path)


def test_find_binary_refuses_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        find_binary(tmp_path / "missing")


def test_floor_symbols_names_what_needs_the_newest_version() -> None:
    wanted = [("memcpy", "GLIBC_2.14"), ("__libc_single_threaded", "GLIBC_2.32"), ("free", "")]
    linkage = Linkage(
        soname="",
        needed=(),
        runpath=(),
        rpath=(),
        defined=(),
        undefined=tuple(
            Reference(name=name, version=version, library="libc.so.6", is_weak=False)
            for name, version in wanted
        ),
    )
    assert floor_symbols(linkage) == {"GLIBC_2.32": ("__libc_single_threaded",)}
