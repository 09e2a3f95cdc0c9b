"""Upload a folder as a machine of its own: nothing remembered from earlier uploads."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from demo.hub import RunningHub

SCRIPT = """
import sys
from huggingface_hub import HfApi
endpoint, token, repo, folder = sys.argv[1:]
api = HfApi(endpoint=endpoint, token=token)
api.upload_folder(repo_id=repo, repo_type="kernel", folder_path=folder)
"""


def upload_from_elsewhere(
    hub: RunningHub, repo: str, folder: Path, home: Path, **environment: str
) -> subprocess.Popen[bytes]:
    """Start an upload in a process with the home folder ``home``."""
    command = [sys.executable, "-c", SCRIPT, hub.url, hub.token, repo, str(folder)]
    env = {**os.environ, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", **environment}
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> None:
    """Wait for an upload, which must succeed."""
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors.decode()[-3000:]
