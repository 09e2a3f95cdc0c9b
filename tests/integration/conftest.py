"""What tests of kernels on a Hub share: a real Hub on loopback, and a client's environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from demo.hub import RunningHub, serving
from tests.unit.runtime.kernel_files import unload_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with serving(tmp_path_factory.mktemp("hub"), "--trust", "acme") as running:
        yield running


@pytest.fixture
def client(
    server: RunningHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.MonkeyPatch]:
    """An environment that talks to the Hub as its administrator, with an empty cache."""
    for name in [each for each in os.environ if each.startswith(("HF_", "KERNELS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KERNELS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", server.token)
    yield monkeypatch
    unload_kernels()
