"""The ``kernel-builder`` command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.console import run_console

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMANDS = {
    "init": "init",
    "check-config": "check_config",
    "check-builds": "check_builds",
    "check-abi": "check_abi",
    "update-build": "update_build",
    "list-variants": "list_variants",
    "lock": "lock",
    "reproduce": "reproduce",
    "sdk": "sdk",
    "cache": "cache",
    "nix": "nix",
    "create-pyproject": "create_pyproject",
    "clean-pyproject": "clean_pyproject",
    "build": "build",
    "test": "test",
    "inspect": "inspect",
    "hash": "hash",
    "doctor": "doctor",
    "keygen": "keygen",
    "sign": "sign",
    "upload": "upload",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    commands = {name: f"kernelmill.builder.cli.{module}" for name, module in _COMMANDS.items()}
    return run_console("kernel-builder", "Build kernels for PyTorch.", commands, argv)
