"""What a worker sends besides what its metadata names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.test_parcel import files, tree, variant  # noqa: F401 - fixtures

from kernelmill.builder.errors import CheckError
from kernelmill.builder.runners.arrival import install_variant
from kernelmill.builder.runners.parcel import File, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.sources import KernelTree
    from kernelmill.spec.variant import ArchVariant


@pytest.mark.parametrize(
    "path", ["planted.pyc", "__pycache__/__init__.cpython-312.pyc", "metadata.json.sig"]
)
def test_file_that_no_digest_covers_is_refused(
    path: str,
    tree: KernelTree,  # noqa: F811 - the fixture
    variant: ArchVariant,  # noqa: F811 - the fixture
    files: tuple[File, ...],  # noqa: F811 - the fixture
) -> None:
    with pytest.raises(CheckError, match=f"holds '{path}', which no digest covers"):
        install_variant((*files, File(path, b"")), tree, variant)


def test_nothing_is_written_when_a_later_path_leads_out(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match=r"'\.\./up' leads out of the folder"):
        write_files([File("first", b""), File("../up", b"")], tmp_path / "in")
    assert not (tmp_path / "in").exists()
