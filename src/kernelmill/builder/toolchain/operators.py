"""The operators of a finished variant, asked of a Python that loads it: its code is run."""

from __future__ import annotations

import json
import subprocess
from importlib import resources
from typing import TYPE_CHECKING

from kernelmill.builder.check.ops import Operator
from kernelmill.builder.errors import CheckError

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT_S = 120


def load_operators(folder: Path, *, unique_id: str, python: str) -> tuple[Operator, ...]:
    """Return the operators that the variant in ``folder`` registers when it is imported.

    Args:
        folder: of the variant.
        unique_id: the id in its metadata: its name in ``sys.modules`` and the operators' namespace.
        python: an interpreter with the variant's PyTorch.

    Raises:
        CheckError: it cannot be imported, or registers nothing.
    """
    script = resources.files("kernelmill.builder") / "templates/probe/operators.py"
    with resources.as_file(script) as path:
        command = [python, str(path), str(folder.resolve()), unique_id]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CheckError(f"cannot be loaded: {error}", where=str(folder)) from error
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}"
        raise CheckError(f"cannot be loaded: {reason}", where=str(folder))
    found = json.loads(done.stdout.strip().rpartition("\n")[2])
    if not found:
        raise CheckError(f"registers no operators under {unique_id}", where=str(folder))
    return tuple(
        Operator(name=it["name"], schema=it["schema"], has_fake=it["has_fake"]) for it in found
    )
