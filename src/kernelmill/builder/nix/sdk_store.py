"""What a shell's derivation runs: SDKs of Nix's store, laid out as a store of ours.

In the environment: ``records``, name -> ``sdk.json``, and ``trees``, name -> folder, as
JSON; ``out``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.sdk import format as sdk_format
from kernelmill.builder.sdk.store import RECORD_NAME, TREE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping


def main(env: Mapping[str, str]) -> int:
    """Link them."""
    out = Path(env["out"])
    trees = json.loads(env["trees"])
    for name, raw in sorted(json.loads(env["records"]).items()):
        record = sdk_format.parse(json.dumps(raw), where=name)
        folder = out / name
        folder.mkdir(parents=True)
        (folder / RECORD_NAME).write_text(sdk_format.dumps(record), encoding="utf-8", newline="\n")
        (folder / TREE_NAME).symlink_to(trees[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
