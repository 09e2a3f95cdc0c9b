"""The ``kernels`` command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.console import run_console

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {
    name: f"kernelmill.runtime.cli.{name.replace('-', '_')}"
    for name in (
        "explain",
        "doctor",
        "info",
        "versions",
        "verify-signature",
        "update",
        "lock",
        "download",
        "export",
        "upload",
        "benchmark",
    )
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``kernels`` and return its exit status."""
    return run_console(
        "kernels", "Find, load, explain and publish compute kernels for PyTorch.", COMMANDS, argv
    )
