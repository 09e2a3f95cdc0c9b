"""C14: equal inputs give an equal key, any other a different one; a place or a time is none."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import write_kernel
from tests.unit.builder.locking.records import STORE

from kernelmill.builder.inside.order import Order
from kernelmill.builder.locking.key import build_key
from kernelmill.builder.sources import read_tree
from kernelmill.spec.metadata import SourceState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ORDER = Order(
    variant="torch213-cxx11-cpu-x86_64-linux",
    sdks=STORE,
    lock_sha256="c" * 64,
    source=SourceState(commit="d" * 40, is_dirty=False),
)


def key(root: Path, order: Order = ORDER, *, builder: str = "e") -> str:
    return build_key(read_tree(root), order, builder_sha256=builder * 64)


def test_key_knows_no_folder_time_locale_or_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = key(write_kernel(tmp_path / "a"))
    second = write_kernel(tmp_path / "some/other folder")
    (second / "notes.txt").write_text("not a source")
    for path in second.rglob("*"):
        os.utime(path, (1, 1))
    for name in ("HOME", "USER", "LANG", "LC_ALL", "TZ", "CXXFLAGS", "SOURCE_DATE_EPOCH"):
        monkeypatch.setenv(name, "else")
    assert key(second) == first
    assert key(second, replace(ORDER, sdks=STORE[::-1])) == first


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda root: (root / "relu/relu.h").write_text("// Header\n"), id="header"),
        pytest.param(lambda root: (root / "relu/relu.cpp").write_text("// CPU\n"), id="source"),
        pytest.param(
            lambda root: (root / "torch-ext/my_relu/__init__.py").write_text("ops = 1\n"),
            id="python",
        ),
        pytest.param(
            lambda root: (root / "build.toml").write_text(
                (root / "build.toml")
                .read_text()
                .replace('backend = "cpu"\n', 'backend = "cpu"\ncxx-flags = ["-O3"]\n')
            ),
            id="flag",
        ),
        pytest.param(lambda root: (root / "relu/relu.h").rename(root / "relu/relu.hpp"), id="name"),
    ],
)
def test_key_changes_with_a_byte_of_the_sources(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    root = write_kernel(tmp_path)
    first = key(root)
    change(root)
    if not (root / "relu/relu.h").exists():
        manifest = (root / "build.toml").read_text().replace('relu/relu.h"', 'relu/relu.hpp"')
        (root / "build.toml").write_text(manifest)
    assert key(root) != first


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(replace(ORDER, variant="torch212-cxx11-cpu-x86_64-linux"), id="variant"),
        pytest.param(
            replace(ORDER, sdks=(replace(STORE[0], nar_sha256="2" * 64), *STORE[1:])), id="sdk"
        ),
        pytest.param(replace(ORDER, sdks=STORE[1:]), id="fewer-sdks"),
        pytest.param(replace(ORDER, lock_sha256="0" * 64), id="lock"),
        pytest.param(replace(ORDER, source=None), id="commit"),
        pytest.param(
            replace(ORDER, source=SourceState(commit="d" * 40, is_dirty=True)), id="dirty"
        ),
        pytest.param(replace(ORDER, isolation="none"), id="isolation"),
    ],
)
def test_key_changes_with_what_is_ordered(tmp_path: Path, order: Order) -> None:
    root = write_kernel(tmp_path)
    assert key(root, order) != key(root)


def test_key_changes_with_the_builder(tmp_path: Path) -> None:
    root = write_kernel(tmp_path)
    assert key(root, builder="f") != key(root)
