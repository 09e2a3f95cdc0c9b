"""An earlier build of a kernel: a folder, or what a Hub has under a version."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SourceError
from kernelmill.spec.errors import HubError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.spec.errors import KernelError

_ON_A_HUB: Final = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[\w./-]+)")
# The builder never imports the runtime: they meet over a command line.
_FETCH: Final = (
    "import sys; from kernelmill.runtime.api import install_kernel_all_variants as install; "
    "print(install(sys.argv[1], revision=sys.argv[2]))"
)

_FETCH_PYTHON: Final = (
    "import sys; from pathlib import Path; "
    "from kernelmill.runtime.published import fetch_python as fetch; "
    "print(fetch(sys.argv[1], sys.argv[2], Path(sys.argv[3])) or '')"
)


def find_earlier(text: str) -> Path:
    """Return the folder that ``text`` names, or fetch ``OWNER/NAME@REVISION`` and return that one.

    Only the publishers that `get_kernel` would load from are fetched from.

    Raises:
        SourceError: there is no such folder, and it cannot be fetched.
    """
    folder = Path(text)
    match = _ON_A_HUB.fullmatch(text)
    if folder.exists():
        return folder
    if not match:
        raise SourceError(
            "there is no such folder",
            where=text,
            hint="name the folder of an earlier build, or one on a Hub as OWNER/NAME@v1",
        )
    hint = "name a folder with that build instead"
    words = (match["repo"], match["revision"])
    return Path(_ask(_FETCH, *words, env=os.environ, kind=SourceError, hint=hint))


def fetch_python(
    repo: str, revision: str, folder: Path, *, env: Mapping[str, str], hint: str
) -> Path | None:
    """Fetch the Python files of one build that a Hub has, into ``folder``, and return its folder.

    They are read and never run, so it does not matter whether their publisher is trusted.

    Args:
        repo: the repository.
        revision: its branch.
        folder: an empty folder.
        env: names the Hub.
        hint: what to do when that fails.

    Returns:
        The build's folder; None when the Hub has none.

    Raises:
        HubError: the Hub does not answer, or refuses.
    """
    words = (repo, revision, str(folder))
    found = _ask(_FETCH_PYTHON, *words, env=env, kind=HubError, hint=hint)
    return Path(found) if found else None


def _ask(
    script: str,
    repo: str,
    revision: str,
    *more: str,
    env: Mapping[str, str],
    kind: type[KernelError],
    hint: str,
) -> str:
    """Return the last line that a script of the runtime prints."""
    command = [sys.executable, "-P", "-c", script, repo, revision, *more]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
        reason = next((it for it in lines if re.match(r"[\w.]+(Error|Exception)?: ", it)), "")
        raise kind(
            f"cannot be fetched: {reason.partition(': ')[2] or 'see `kernels explain`'}",
            where=f"{repo}@{revision}",
            hint=hint,
        )
    return done.stdout.strip().rpartition("\n")[2]
