"""`cmake -B build` works in the folder into which it installs the variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.runtime.draft import read_draft

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("beside", "names"),
    [
        (["CMakeCache.txt"], ["torch-cpu"]),
        # Without it, nobody knows whose folder that is: it is told as one with a wrong name.
        ([], ["CMakeFiles", "torch-cpu"]),
    ],
)
def test_folders_of_cmake_are_no_variants(
    tmp_path: Path, beside: list[str], names: list[str]
) -> None:
    build = tmp_path / "build"
    write_files(build / "torch-cpu", kernel_files())
    write_files(build, {"CMakeFiles/rules.ninja": b"", **dict.fromkeys(beside, b"")})
    assert [it.name for it in read_draft(tmp_path).variants] == names
