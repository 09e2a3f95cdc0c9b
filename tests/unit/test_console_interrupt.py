"""Ctrl-C while a command is still being imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.console import run_console

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_interrupt_of_an_import_is_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow_command.py").write_text('HELP = "wait"\nraise KeyboardInterrupt\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert run_console("tool", "a tool", {"slow": "slow_command"}, ["slow"]) == 130
    assert capfd.readouterr() == ("", "")
