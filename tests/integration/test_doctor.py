"""``kernels doctor KERNEL`` says that a kernel loads only when it did (L16)."""

from __future__ import annotations

import json
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.runtime.cli import doctor, main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Doctor = Callable[..., tuple[int, str | None, list[str]]]

BROKEN = {f"core{EXTENSION_SUFFIXES[-1]}": b"\x7fELF but no more of it"}


@pytest.fixture
def diagnose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Doctor:
    """Examine a kernel in a folder; gives the status, the module, and what is wrong with it."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("KERNELS_CACHE", str(tmp_path))
    # The machine itself is not what is tested here.
    monkeypatch.setattr(doctor, "_probe", lambda: ({}, []))

    def run(source: str, *arguments: str, binaries: dict[str, bytes] | None = None) -> object:
        files = kernel_files(sources={"__init__.py": source}, binaries=binaries)
        folder = write_files(tmp_path / "kernel/build/torch-universal", files).parents[1]
        status = main(["doctor", str(folder), "--json", *arguments])
        printed = json.loads(capfd.readouterr().out)
        found = [each.removeprefix(f"{folder}: ") for each in printed["findings"]]
        return status, printed["loads"], found

    return run  # type: ignore[return-value]


def test_kernel_that_loads_is_named(diagnose: Doctor) -> None:
    status, module, findings = diagnose("import os\nos.write(1, b'noise')\nprint('noise')\n")
    assert (status, findings) == (0, [])
    assert str(module).startswith("_toy_cpu_")
    assert not [name for name in sys.modules if name.startswith("_toy_cpu_")], "elsewhere"


def test_broken_library_is_a_finding(diagnose: Doctor) -> None:
    status, module, findings = diagnose("from . import core\n", binaries=BROKEN)
    assert (status, module, len(findings)) == (1, None, 1)
    assert "core" in findings[0]


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        pytest.param(
            "1 / 0", "importing it fails: ZeroDivisionError: division by zero", id="error"
        ),
        pytest.param("raise SystemExit(0)", "importing it fails: SystemExit: 0", id="exit"),
        pytest.param("import missing_package", "No module named 'missing_package'", id="import"),
        pytest.param(
            "import os; os.abort()",
            "loading it ends the process, by signal 6 (Aborted)",
            id="abort",
        ),
        pytest.param("import os; os._exit(0)", "the process, with exit status 0", id="_exit"),
    ],
)
def test_kernel_that_does_not_load_is_a_finding(
    diagnose: Doctor, source: str, finding: str
) -> None:
    status, module, findings = diagnose(f"{source}\n")
    assert (status, module, len(findings)) == (1, None, 1)
    assert finding in findings[0]


def test_kernel_that_takes_too_long_is_a_finding(
    diagnose: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "TRIAL_TIMEOUT_S", 0.01)
    status, _, findings = diagnose("")
    assert (status, findings) == (1, ["not loaded within 0 seconds"])


def test_repository_that_is_not_cached_is_a_finding(
    diagnose: Doctor, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "acme/toy", "--version", "1", "--allow", "acme/toy"]) == 1
    assert (
        "- acme/toy: acme/toy: Version 1 of 'acme/toy' is not available" in capfd.readouterr().out
    )
