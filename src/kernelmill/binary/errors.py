"""The errors of reading binaries."""

from __future__ import annotations

from kernelmill.spec.errors import HostError, InputError


class BinaryError(InputError):
    """Bytes are not what they claim to be: truncated, contradictory, or of an unknown format."""


class DisassemblerError(HostError, ImportError):
    """LLVM's disassembler library is not installed, or cannot be loaded."""

    def __init__(self, problem: str, *, where: str = "") -> None:
        super().__init__(
            problem, where=where, hint='pip install ".[builder]" in a clone of kernelmill'
        )
