"""What a generated project built has no digest until `kernel-builder hash` writes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.unit.builder.fakes import write_kernel

from kernelmill.builder.cli import main
from kernelmill.builder.publishing import find_without_digest

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MANIFEST = """\
[general]
name = "soft-max"
version = 1
edition = 5
license = "MIT"
backends = ["cpu"]

[torch-noarch]
"""


def test_upload_says_how_a_digest_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_kernel(tmp_path / "k", MANIFEST, {"torch-ext/soft_max/__init__.py": ""})
    assert main(["build", str(root)]) == 0
    path = root / "build/torch-cpu/metadata.json"
    known = json.loads(path.read_text())
    del known["digest"]
    path.write_text(json.dumps(known))
    assert find_without_digest(root / "build") == ("torch-cpu",)
    capsys.readouterr()
    assert main(["upload", str(root)]) == 2  # no repository: nothing is sent
    assert (
        "warning: torch-cpu has no digest, so who loads it cannot check its files: "
        "`kernel-builder hash` writes it\n"
    ) in capsys.readouterr().err
    assert main(["hash", str(root)]) == 0
    assert not find_without_digest(root / "build")
