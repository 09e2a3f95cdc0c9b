"""What the sanitizer found, on its way to people and to other programs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.binary.code_object import parse
from kernelmill.emulator.cli.run import report_findings
from kernelmill.emulator.findings import Finding
from kernelmill.emulator.hip_runtime.session import Session
from kernelmill.emulator.launch import Dispatch

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from kernelmill.emulator.memory import Memory

FINDING = Finding(
    kind="lds-race",
    kernel="sum",
    address=0x1750,
    instruction="ds_write_b32 v2, v1",
    source="sum.hip:21",
    workgroup=0,
    work_item=64,
    detail="byte 256",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyReport:
    instructions: int = 3
    findings: tuple[Finding, ...] = (FINDING,)
    profile: dict[str, object] | None = None


def execute(dispatch: Dispatch, memory: Memory, *, sanitize: bool, profile: bool) -> FaultyReport:
    del dispatch, memory, sanitize, profile
    return FaultyReport()


def test_finding_is_written_down_field_by_field_when_logged(tmp_path: Path, code: bytes) -> None:
    dispatch = Dispatch(code_object=parse(code), kernel="sum", grid=(1, 1, 1), block=(64, 1, 1))
    Session(execute=execute, sanitize=True, log_folder=tmp_path).launch(dispatch)
    (file,) = tmp_path.iterdir()
    (found,) = json.loads(file.read_text("utf-8"))["findings"]
    assert (found["kind"], found["source"], found["work_item"]) == ("lds-race", "sum.hip:21", 64)
    assert found["address"] == 0x1750
    assert found["text"] == str(FINDING)


def test_finding_is_printed_once_when_many_launches_show_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    launches = [
        {"kernel": "sum", "findings": [{"text": text}], "error": error}
        for text, error in (("race", ""), ("other", ""), ("race", "wild"))
    ]
    report_findings(launches)
    assert capsys.readouterr().err.splitlines() == [
        "kernel-emulator: race (in 2 launches)",
        "kernel-emulator: other",
        "kernel-emulator: sum: wild",
    ]
