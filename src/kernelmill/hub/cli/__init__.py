"""The command ``kernel-hub``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from kernelmill.console import run_console

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {name: f"kernelmill.hub.cli.{name}" for name in ("serve", "org", "user", "token")}


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``kernel-hub`` and return its exit status."""
    os.umask(0o077)  # what a Hub keeps is for its owner's eyes
    return run_console("kernel-hub", "Run a Hub of your own.", COMMANDS, argv)
