from __future__ import annotations

import sys
import sysconfig
from typing import TYPE_CHECKING

from kernelmill.builder.diagnosis import diagnose

if TYPE_CHECKING:
    from pathlib import Path


def test_python_headers_are_looked_for_when_there_is_no_torch(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho \'{"error": "torch is not installed"}\'\n')
    python.chmod(0o755)
    tools = {tool.name: tool for tool in diagnose({}, python=str(python)).tools}
    (torch,), (headers,) = tools["torch"].candidates, tools["Python headers"].candidates
    assert torch.problem == "torch is not installed"
    assert headers == diagnose({}, python=sys.executable).tools[1].candidates[0]
    assert headers.path == sysconfig.get_paths()["include"]
