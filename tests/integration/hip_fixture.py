"""Build the kernels of ``emulated/project``: real HIP, compiled for a GPU that is not here."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from kernelmill.builder.hip.project import recipe_files

PROJECT: Final = Path(__file__).parent / "emulated" / "project"
TIMEOUT_S: Final = 180
FOLDER_VARIABLE: Final = "KERNELMILL_TEST_KERNELS"
"""Tells the tests that run in the emulator where the libraries are."""


def torch_folder() -> Path:
    """Return where torch is. Not by importing it: that would be too early for some tests."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("torch is not installed")
    return Path(spec.origin).parent


def build_kernels(folder: Path) -> Path:
    """Build in ``folder``, where a build of an earlier run is brought up to date."""
    cmake = pytest.importorskip("cmake")
    ninja = pytest.importorskip("ninja")
    pytest.importorskip("ziglang")
    sources = {path.name: path.read_text("utf-8") for path in PROJECT.iterdir()}
    for name, text in {**recipe_files(), **sources}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    program = str(Path(cmake.CMAKE_BIN_DIR) / "cmake")
    run(
        [
            program, "-G", "Ninja", "-B", "build",
            f"-DCMAKE_MAKE_PROGRAM={Path(ninja.BIN_DIR) / 'ninja'}",
            f"-DPython3_EXECUTABLE={sys.executable}", f"-DTORCH_FOLDER={torch_folder()}",
        ],
        folder,
    )  # fmt: skip
    run([program, "--build", "build"], folder)
    return folder / "build"


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
