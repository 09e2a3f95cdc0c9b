"""The ``kernels`` command."""

from kernelmill.runtime.cli import main

__all__ = ["main"]
