"""``python -m kernelmill.runtime.trial JSON``: load one kernel in a process of its own.

For ``kernels doctor``: a broken library may end the process that opens it. Prints one JSON object;
what the kernel itself prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from kernelmill.runtime import api
from kernelmill.spec.errors import KernelError


def load(place: str, **options: Any) -> str:  # noqa: ANN401 - the arguments of the functions below
    """Load a kernel from a folder, or else from the Hub, and return its module's name."""
    if Path(place).is_dir():
        options = {name: options.get(name) for name in ("backend", "trust_remote_code")}
        return api.get_local_kernel(place, **options).__name__
    return api.get_kernel(place, **options).__name__


def main(arguments: dict[str, Any]) -> int:
    """Load what ``arguments`` say; 1 when that fails."""
    answer = os.dup(1)
    os.dup2(2, 1)
    outcome: dict[str, str]
    try:
        outcome = {"module": load(**arguments)}
    except KernelError as error:
        outcome = {"error": str(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the kernel raises
        outcome = {"error": f"importing it fails: {type(error).__name__}: {error}"}
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        json.dump(outcome, file)
    return int("error" in outcome)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
