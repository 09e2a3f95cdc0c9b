"""Kernels that a folder of the caller's own depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, write_files
from tests.unit.runtime.test_tree import need, publish, user_of

from kernelmill.runtime import api
from kernelmill.runtime.errors import Unresolved

if TYPE_CHECKING:
    from pathlib import Path


def test_dependency_of_a_folder_that_is_nowhere_is_named_as_such(
    process_session: MemoryHub, tmp_path: Path
) -> None:
    build = tmp_path / "torch-cpu"
    write_files(build, user_of(need("acme/none")))
    with pytest.raises(
        Unresolved, match=r"Could not resolve kernel: acme/none \(version: 1\)"
    ) as caught:
        api.get_local_kernel(build)
    assert caught.value.__notes__ == [f"needed by {build}"]


def test_folder_that_depends_on_too_many_kernels_is_refused(
    process_session: MemoryHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("kernelmill.runtime.tree.MAX_KERNELS", 2)
    names = ("acme/a", "acme/b", "acme/c")
    for name in names:
        publish(process_session, name, kernel_files())
    build = tmp_path / "torch-cpu"
    write_files(build, user_of(*map(need, names)))
    with pytest.raises(Unresolved, match="depends on more than 2 kernels") as caught:
        api.get_local_kernel(build)
    assert caught.value.where == str(build)
