"""``build2cmake``: the old name of ``kernel-builder``, with the commands that guides name."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli import main as run_builder

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMANDS = {
    "generate": "create-pyproject",
    "generate-torch": "create-pyproject",
    "generate-tvm-ffi": "create-pyproject",
    "clean": "clean-pyproject",
    "update-build": "update-build",
    "validate": "check-config",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Say the new name of a command, run it and return its exit status."""
    words = translate(sys.argv[1:] if argv is None else argv)
    print(f"build2cmake is now: kernel-builder {' '.join(words)}", file=sys.stderr)
    return run_builder(words)


def translate(argv: Sequence[str]) -> list[str]:
    """Return the words of ``kernel-builder`` that mean the same.

    Usage errors end the process, as everywhere in argparse.
    """
    parser = argparse.ArgumentParser(
        prog="build2cmake",
        description="The old name of kernel-builder.",
        allow_abbrev=False,
    )
    parser.add_argument("command", choices=sorted(_COMMANDS))
    parser.add_argument("build_toml", type=Path, metavar="BUILD_TOML")
    parser.add_argument("target", nargs="?", metavar="TARGET")
    parser.add_argument("-f", "--force", action="store_true")
    parser.add_argument("-d", "--dry-run", action="store_true")
    parser.add_argument("--backend", metavar="NAME")
    parser.add_argument("--ops-id", metavar="ID")
    args = parser.parse_args(argv)
    path: Path = args.build_toml
    words = [_COMMANDS[args.command], str(path.parent if path.suffix == ".toml" else path)]
    words += [args.target] if args.target else []
    options = {"--backend": args.backend, "--unique-id": args.ops_id}
    words += [word for name, value in options.items() if value for word in (name, value)]
    words += [
        name for name in ("--force", "--dry-run") if getattr(args, name[2:].replace("-", "_"))
    ]
    return words
