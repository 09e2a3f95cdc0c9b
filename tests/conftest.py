"""What every test may use."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
collect_ignore: Final = ["integration/cuda_extension"]
"""A kernel's repository: its own tests are run by ours, on an emulated device."""
OFFLINE_FOLDERS: Final = ("unit", "property", "golden")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what hypothesis drives: `make unit` leaves it to `make test`, to stay short."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.property)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected folders")


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unit tests reach nothing: a socket that would connect says so."""
    folder = request.path.relative_to(ROOT / "tests").parts[0]
    if folder not in OFFLINE_FOLDERS:
        return

    def refuse(*_: object) -> None:
        pytest.fail(f"a {folder} test opened a network connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)


def require_program(name: str, *, package: str) -> str:
    """Return the path of ``name``; skip the test by name, or fail it where all is required."""
    found = shutil.which(name)
    if found:
        return found
    reason = f"{name} is not installed: it comes with the distribution package {package}"
    if os.environ.get("KERNELMILL_REQUIRE_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the project."""
    return ROOT
