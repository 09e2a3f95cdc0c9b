from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files

from kernelmill.runtime.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Printed = tuple[int, str]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """Run ``kernels`` in this process; gives its exit status and what it printed."""

    def run(*arguments: str) -> Printed:
        status = main(arguments)
        output = capsys.readouterr()
        return status, output.out + output.err

    return run


def test_explain_loads_nothing_when_the_publisher_is_not_trusted(
    process_session: MemoryHub, command: Callable[..., Printed]
) -> None:
    process_session.publish("stranger/toy", "v1", {"torch-cpu": kernel_files()})
    status, text = command("explain", "stranger/toy")
    assert status == 1
    assert "would load  nothing without trust_remote_code\n" in text
    status, text = command("explain", "stranger/toy", "--json")
    assert status == 1
    assert json.loads(text)["chosen"] == "torch-cpu"
    assert json.loads(text)["would_load"] is None


def test_explain_names_the_build_when_the_publisher_is_trusted(
    process_session: MemoryHub, command: Callable[..., Printed]
) -> None:
    process_session.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    status, text = command("explain", "acme/toy")
    assert status == 0
    assert "would load  torch-cpu\n" in text


@pytest.fixture
def file_as_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache whose folder is a file."""
    path = tmp_path / "cache"
    path.write_text("")
    monkeypatch.setenv("KERNELS_CACHE", str(path))
    return path


def test_doctor_names_a_cache_that_is_a_file(
    file_as_cache: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Printed]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    status, text = command("doctor")
    assert status == 1
    assert f"the cache {file_as_cache} cannot be made: {file_as_cache} is not a folder" in text


def test_explain_works_when_the_cache_is_a_file(
    process_session: MemoryHub, file_as_cache: Path, command: Callable[..., Printed]
) -> None:
    process_session.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    assert command("explain", "acme/toy")[0] == 0
