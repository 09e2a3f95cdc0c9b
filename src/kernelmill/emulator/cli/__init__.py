"""The ``kernel-emulator`` command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.console import run_console

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {
    "run": "kernelmill.emulator.cli.run",
    "doctor": "kernelmill.emulator.cli.doctor",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``kernel-emulator`` and return its exit status."""
    return run_console("kernel-emulator", "Run AMD kernels without an AMD GPU.", COMMANDS, argv)
