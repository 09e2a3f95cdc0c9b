"""What a bundle's derivation runs: variants side by side, each with the statement about it.

In the environment: ``variants``, name -> ``folder`` and ``statement`` as JSON; ``out``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.inside.places import STATEMENT_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping


def main(env: Mapping[str, str]) -> int:
    """Copy them."""
    out = Path(env["out"])
    out.mkdir()
    for name, it in sorted(json.loads(env["variants"]).items()):
        shutil.copytree(it["folder"], out / name, symlinks=True)
        shutil.copyfile(it["statement"], out / f"{name}{STATEMENT_SUFFIX}")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
