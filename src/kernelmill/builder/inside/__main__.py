"""Start of a hermetic build. Only the standard library is here until the SDKs are found."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

_IMPORTABLE: Final = ("tools", "zig", "tvm-ffi")
"""Kinds of SDKs that hold Python packages."""


def main(argv: list[str]) -> int:
    """Build what ``argv[0]``, a file, says; below the folder ``argv[1]`` in place of ``/``."""
    top = Path(argv[1] if len(argv) > 1 else "/")
    content = Path(argv[0]).read_text(encoding="utf-8")
    folders = [
        str(top / "sdk" / name / "tree")
        for name, sdk in sorted(json.loads(content)["sdks"].items())
        if sdk["kind"] in _IMPORTABLE
    ]
    sys.path += folders
    from kernelmill.builder.inside.work import run  # noqa: PLC0415 - needs what was just added

    return run(content, top, python_path=folders)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
