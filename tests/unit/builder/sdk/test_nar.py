from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.nar import nar_sha256

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = "588f06a27a16442bf6758685cb0db8d40683f0913fc4ed674443d146402edc82"
"""What ``nix hash path --base16`` of Nix 2.8.0 prints for ``tree``."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder with each kind of entry, and names whose order by bytes is not by letters."""
    root = tmp_path / "tree"
    (root / "b").mkdir(parents=True)
    (root / "B").write_text("upper\n")
    (root / "b/empty").write_bytes(b"")
    (root / "b/eight").write_bytes(b"12345678")
    (root / "ä.txt").write_text("umlaut\n", encoding="utf-8")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("b/eight")
    (root / "none").mkdir()
    return root


def test_nar_hash_is_the_one_that_nix_prints(tree: Path) -> None:
    assert nar_sha256(tree) == KNOWN


def test_nar_hash_is_that_of_nix_when_nix_is_here(tree: Path) -> None:
    nix = shutil.which("nix")
    if nix is None:
        pytest.skip("nix is not installed")
    flags = ["--extra-experimental-features", "nix-command"]
    done = subprocess.run(
        [nix, *flags, "hash", "path", "--base16", str(tree)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert nar_sha256(tree) == done.stdout.strip()


def test_nar_hash_sees_contents_names_modes_and_links_and_no_times(tree: Path) -> None:
    seen = {nar_sha256(tree)}
    os.utime(tree / "B", (1, 1))
    assert {nar_sha256(tree)} == seen
    (tree / "B").write_text("Upper\n")
    seen.add(nar_sha256(tree))
    (tree / "B").rename(tree / "C")
    seen.add(nar_sha256(tree))
    (tree / "run.sh").chmod(0o644)
    seen.add(nar_sha256(tree))
    (tree / "link").unlink()
    (tree / "link").symlink_to("b/empty")
    seen.add(nar_sha256(tree))
    assert len(seen) == 5


def test_nar_hash_refuses_what_no_archive_holds(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    with pytest.raises(SdkError, match="is neither a file nor a folder") as caught:
        nar_sha256(tree)
    assert caught.value.where == str(tree / "pipe")
