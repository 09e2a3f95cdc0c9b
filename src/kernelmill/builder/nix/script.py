"""What a script's derivation runs: ``$out/bin/$name`` becomes ``$text``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def main(env: Mapping[str, str]) -> int:
    """Write it."""
    place = Path(env["out"]) / "bin" / env["name"]
    place.parent.mkdir(parents=True)
    place.write_text(env["text"], encoding="utf-8", newline="\n")
    place.chmod(0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
