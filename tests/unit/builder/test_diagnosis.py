from __future__ import annotations

import json
import sys
import sysconfig
from typing import TYPE_CHECKING

from tests.unit.builder.test_parcel import write_sdk

from kernelmill.builder import diagnosis
from kernelmill.builder.cli import main
from kernelmill.builder.diagnosis import diagnose
from kernelmill.builder.sdk.format import dumps
from kernelmill.builder.toolchain.programs import Candidate, Program

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_python_headers_are_looked_for_when_there_is_no_torch(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho \'{"error": "torch is not installed"}\'\n')
    python.chmod(0o755)
    tools = {tool.name: tool for tool in diagnose({}, python=str(python)).tools}
    (torch,), (headers,) = tools["torch"].candidates, tools["Python headers"].candidates
    assert torch.problem == "torch is not installed"
    assert headers == diagnose({}, python=sys.executable).tools[1].candidates[0]
    assert headers.path == sysconfig.get_paths()["include"]


def test_sdks_are_measured_and_compared_with_their_hash_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sdk = write_sdk(tmp_path / "torch-2.12.0")
    (sdk.folder / "sdk.json").write_text(dumps(sdk.record))
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path))
    monkeypatch.setenv("MAX_JOBS", "3")
    main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    at = lines.index(f"SDKs in {tmp_path}:")
    assert lines[at + 1] == "  torch-2.12.0  0.0 MB  not verified: see --verify"
    assert lines[at + 2].startswith("compilers at once: 3, as MAX_JOBS says (")
    main(["doctor", "--verify"])
    assert "  torch-2.12.0  0.0 MB  verified" in capsys.readouterr().out
    (sdk.tree / "header.h").write_text("// another\n")
    assert main(["doctor", "--verify", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["max-jobs"], document["jobs"]) == (1, 3, 3)
    (found,) = document["sdks"]
    assert (found["name"], found["size-bytes"]) == ("torch-2.12.0", 19)
    assert found["verified"] is False
    assert found["problem"].startswith("NAR sha256 is ")


def test_every_backend_may_explain_its_compilers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C1: places in the order in which they are tried, each with its verdict."""
    places = (
        Candidate(source="$NPU_HOME", path="", problem="not set"),
        Candidate(source="PATH", path="/usr/bin/npucc", version="1.2"),
        Candidate(source="/opt", path="/opt/npu/bin/npucc", version="1.0"),
    )
    explained = Program(name="compiler for NPUs", candidates=places)
    monkeypatch.setattr(diagnosis, "DEVICE_COMPILERS", (lambda _env, _cxx: explained,))
    main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("compiler for NPUs:")
    assert lines[at + 1 : at + 4] == [
        "  no   $NPU_HOME: not set",
        "  used PATH /usr/bin/npucc: 1.2",
        "  also /opt /opt/npu/bin/npucc: 1.0",
    ]
