"""An earlier build of a kernel: a folder, or what a Hub has under a version."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from kernelmill.builder.errors import SourceError

_ON_A_HUB: Final = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[\w./-]+)")
# The builder never imports the runtime: they meet over a command line.
_FETCH: Final = (
    "import sys; from kernelmill.runtime.api import install_kernel_all_variants as install; "
    "print(install(sys.argv[1], revision=sys.argv[2]))"
)


def find_earlier(text: str) -> Path:
    """Return the folder that ``text`` names, or fetch ``OWNER/NAME@REVISION`` and return that one.

    Only the publishers that `get_kernel` would load from are fetched from.

    Raises:
        SourceError: there is no such folder, and it cannot be fetched.
    """
    folder = Path(text)
    match = _ON_A_HUB.fullmatch(text)
    if folder.exists() or not match:
        return folder
    command = [sys.executable, "-c", _FETCH, match["repo"], match["revision"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
        reason = next((it for it in lines if re.match(r"[\w.]+(Error|Exception)?: ", it)), "")
        raise SourceError(
            f"cannot be fetched: {reason or 'see `kernels explain`'}",
            where=text,
            hint="name a folder with that build instead",
        )
    return Path(done.stdout.strip().rpartition("\n")[2])
