from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.builder.errors import CheckError, SourceError
from kernelmill.builder.review import review_build
from kernelmill.spec.errors import InvalidVariant, KernelError, MetadataError

if TYPE_CHECKING:
    from pathlib import Path


def test_review_names_the_variants_that_are_right(tmp_path: Path) -> None:
    for name in ("torch-universal", "torch-cpu"):
        write_files(tmp_path / "build" / name, kernel_files())
    assert review_build(tmp_path) == ("torch-cpu", "torch-universal")


@pytest.mark.parametrize(
    ("folder", "changes", "error", "problem"),
    [
        pytest.param("", {}, SourceError, "no build variants here", id="nothing"),
        pytest.param("odd", {}, InvalidVariant, "'odd' is not the name of a build", id="name"),
        pytest.param(
            "torch-cpu", {"metadata.json": b'{"\xff'}, MetadataError, "not valid JSON", id="text"
        ),
        pytest.param(
            "torch-cpu",
            {"__init__.py": b"", "new.py": b""},
            CheckError,
            r"(?s)2 findings:.*hash mismatch for __init__\.py.*Unknown file: new\.py",
            id="files",
        ),
    ],
)
def test_review_refuses_what_is_not_as_it_was_built(
    tmp_path: Path, folder: str, changes: dict[str, bytes], error: type[KernelError], problem: str
) -> None:
    if folder:
        write_files(tmp_path / "build" / folder, kernel_files() | changes)
    with pytest.raises(error, match=problem):
        review_build(tmp_path)
