"""The ``kernel-builder`` command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.console import run_console

if TYPE_CHECKING:
    from collections.abc import Sequence

PROG: Final = "kernel-builder"
_MODULES = {
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
    "build-and-copy": "build_and_copy",
    "build-and-upload": "build_and_upload",
    "test": "test",
    "devshell": "devshell",
    "testshell": "testshell",
    "inspect": "inspect",
    "hash": "hash",
    "doctor": "doctor",
    "keygen": "keygen",
    "sign": "sign",
    "fill-card": "fill_card",
    "upload": "upload",
    "completions": "completions",
    "generate-docs": "generate_docs",
    "skills": "skills",
}
COMMANDS: Final = {name: f"kernelmill.builder.cli.{it}" for name, it in _MODULES.items()}
"""Command name -> its module."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return run_console(PROG, "Build kernels for PyTorch.", COMMANDS, argv)
