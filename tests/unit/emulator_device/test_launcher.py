"""The environment of a command, and what is said of its launches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernelmill.emulator.device.errors import CommandError
from kernelmill.emulator.device.launcher import (
    STARTUP,
    child_environment,
    describe_launches,
    read_launches,
    render_report,
    write_report,
)
from kernelmill.emulator.device.settings import read_settings


def launch(**changes: object) -> dict[str, Any]:
    fine: dict[str, Any] = {
        "kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "seconds": 0.5,
        "instructions": 1000, "findings": [], "error": "",
    }  # fmt: skip
    return fine | changes


def environment(environ: dict[str, str], *, sanitize: bool = False) -> dict[str, str]:
    return child_environment(
        environ,
        settings=read_settings({"KERNELMILL_EMULATOR_CACHE": "/cache"}),
        runtimes=[Path("/cache/a/libamdhip64.so.6"), Path("/cache/b/libamdhip64.so.7")],
        log_folder=Path("/log"),
        sanitize=sanitize,
    )


def test_command_finds_the_stand_in_when_started() -> None:
    assert environment({"HOME": "/me"}) == {
        "HOME": "/me",
        "KERNELMILL_EMULATOR": "1",
        "KERNELMILL_EMULATOR_SANITIZE": "0",
        "KERNELMILL_EMULATOR_LOG": "/log",
        "PYTHONPATH": str(STARTUP),
        "LD_LIBRARY_PATH": "/cache/a:/cache/b",
        "TORCHINDUCTOR_CACHE_DIR": "/cache/inductor",
    }
    assert (STARTUP / "sitecustomize.py").is_file()


def test_settings_of_the_user_are_kept_when_there_are_some() -> None:
    theirs = {"PYTHONPATH": "/a:/b", "LD_LIBRARY_PATH": "/lib", "TORCHINDUCTOR_CACHE_DIR": "/own"}
    made = environment(theirs, sanitize=True)
    assert made["PYTHONPATH"] == f"{STARTUP}:/a:/b"
    assert made["LD_LIBRARY_PATH"] == "/cache/a:/cache/b:/lib"
    assert made["TORCHINDUCTOR_CACHE_DIR"] == "/own"
    assert made["KERNELMILL_EMULATOR_SANITIZE"] == "1"


def test_profile_and_limit_are_passed_on_when_asked_for() -> None:
    made = child_environment(
        {},
        settings=read_settings({"KERNELMILL_EMULATOR_CACHE": "/cache"}),
        runtimes=[],
        log_folder=Path("/log"),
        sanitize=False,
        profile=True,
        max_instructions=7,
    )
    settings = read_settings(made)
    assert (settings.profile, settings.max_instructions) == (True, 7)


def test_launches_of_all_processes_are_read_when_written_down(tmp_path: Path) -> None:
    (tmp_path / "20.jsonl").write_text('{"kernel": "c"}\n', "utf-8")
    (tmp_path / "10.jsonl").write_text('{"kernel": "a"}\n{"kernel": "b"}\n', "utf-8")
    (tmp_path / "other").touch()
    assert [item["kernel"] for item in read_launches(tmp_path)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("launches", "text"),
    [
        pytest.param([], "no kernel was launched", id="none"),
        pytest.param(
            [launch()], "1 launch of 1 kernel, 1,000 wave instructions in 0.50 s (2,000/s)",
            id="one",
        ),
        pytest.param(
            [launch(), launch(kernel="l", findings=["race", "race"]), launch(error="wild")],
            "3 launches of 2 kernels, 3,000 wave instructions in 1.50 s (2,000/s);"
            " 1 launch failed; 2 findings",
            id="faulty",
        ),
        pytest.param(
            [launch(seconds=0.0)], "1 launch of 1 kernel, 1,000 wave instructions in 0.00 s",
            id="no time",
        ),
    ],
)  # fmt: skip
def test_sentence_says_what_was_emulated_when_asked(
    launches: list[dict[str, Any]], text: str
) -> None:
    assert describe_launches(launches) == f"emulated gfx942: {text}"


def test_report_has_every_launch_when_written(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_report(path, render_report(["pytest", "-q"], 1, [launch()]))
    assert json.loads(path.read_text("utf-8")) == {
        "version": 1,
        "device": "emulated gfx942",
        "command": ["pytest", "-q"],
        "status": 1,
        "launches": [launch()],
    }
    assert [item.name for item in tmp_path.iterdir()] == ["report.json"]
    with pytest.raises(CommandError, match="the report cannot be written"):
        write_report(tmp_path / "nowhere" / "report.json", "")
