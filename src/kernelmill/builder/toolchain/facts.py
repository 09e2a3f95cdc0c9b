"""What an installed package says of itself, asked by a script that generated projects ask too."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from importlib import resources
from typing import Any

from kernelmill.builder.errors import ToolchainError

_TIMEOUT_S = 60


def read_facts(name: str, python: str, *, hint: str) -> dict[str, Any]:
    """Run ``NAME_facts`` of a generated project's ``cmake/NAME_facts.py`` in ``python``.

    In this process when that is its own interpreter: the scripts import nothing but the standard
    library, and starting Python takes longer than the answer.

    Raises:
        ToolchainError: the interpreter does not run, or the script says why there are no facts.
    """
    script = resources.files("kernelmill.builder") / f"templates/project/cmake/{name}_facts.py"
    with resources.as_file(script) as path:
        if python == sys.executable:
            facts: dict[str, Any] = runpy.run_path(str(path))[f"{name}_facts"]()
        else:
            facts = json.loads(_ask(python, str(path), what=name, hint=hint))
    if "error" in facts:
        raise ToolchainError(facts["error"], hint=hint)
    return facts


def _ask(python: str, script: str, *, what: str, hint: str) -> str:
    try:
        done = subprocess.run(
            [python, script], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(
            f"cannot read the installed {what}: {python} does not run: {error}", hint=hint
        ) from error
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        raise ToolchainError(f"cannot read the installed {what}: {reason}", hint=hint)
    return done.stdout
