"""From a key to a kernel that others verify: with a real Hub on loopback, and offline."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tests.integration.markdown import run_page
from tests.unit.runtime.kernel_files import kernel_files, write_files

import kernels
from kernelmill.builder.cli import main as kernel_builder
from kernelmill.runtime.cli import main as kernels_command

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GOOD = "✅ torch-cpu: kernel metadata is correctly signed\n"


def test_signature_travels_with_its_build(
    client: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, repository = str(tmp_path / "key"), tmp_path / "repository"
    write_files(repository / "build" / "torch-cpu", kernel_files())
    assert kernel_builder(["keygen", key]) == 0
    assert kernel_builder(["sign", str(repository), "--key", key]) == 0
    assert kernels_command(["upload", str(repository), "--repo-id", "acme/signed"]) == 0

    words = ["verify-signature", "acme/signed", "1", "--key", f"{key}.pub"]
    capsys.readouterr()
    assert kernels_command(words) == 0
    assert capsys.readouterr().out == GOOD

    # Verifying asks nobody whether the publisher is trusted; this does, and is remembered.
    assert kernels.has_kernel("acme/signed", version=1)
    client.setenv("HF_HUB_OFFLINE", "1")
    assert kernels_command(words) == 0
    assert capsys.readouterr().out == GOOD
    assert kernels.get_kernel("acme/signed", version=1).double(4) == 8

    (cached,) = (tmp_path / "cache").rglob("snapshots/*/build/torch-cpu/__init__.py")
    target = cached.resolve()
    target.write_text(target.read_text().replace("2 * x", "3 * x"))
    assert kernels_command(words) == 1
    assert "❌ torch-cpu: kernel integrity check failed\nFile hash mismatch for __init__.py" in (
        capsys.readouterr().out
    )


def test_page_does_what_it_says(tmp_path: Path, root: Path) -> None:
    write_files(tmp_path / "build" / "torch-cpu", kernel_files())
    for name, package in {"kernels": "runtime", "kernel-builder": "builder"}.items():
        script = f'#!/bin/sh\nexec {sys.executable} -m kernelmill.{package} "$@"\n'
        write_files(tmp_path / "bin", {name: script.encode()})
        (tmp_path / "bin" / name).chmod(0o755)
    env = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(root / "src"),
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
    }
    run_page(root / "docs" / "signing.md", folder=tmp_path, root=root, env=env)


def test_key_of_somebody_else_is_refused(
    client: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = tmp_path / "repository"
    write_files(repository / "build" / "torch-cpu", kernel_files(value=2))
    for name in ("ours", "theirs"):
        kernel_builder(["keygen", str(tmp_path / name)])
    kernel_builder(["sign", str(repository), "--key", str(tmp_path / "theirs")])
    assert kernels_command(["upload", str(repository), "--repo-id", "acme/theirs"]) == 0
    words = ["verify-signature", "acme/theirs", "--key", str(tmp_path / "ours.pub")]
    assert kernels_command(words) == 1
    assert "no trusted key signed it" in capsys.readouterr().out
