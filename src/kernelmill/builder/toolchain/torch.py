"""The installed torch, read from its files: importing it would take seconds and start threads."""

from __future__ import annotations

from dataclasses import dataclass

from kernelmill.builder.toolchain.facts import read_facts
from kernelmill.spec.version import Release, parse_release

_HINT = "install torch, for example with: pip install torch"


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchInstall:
    """A torch that extensions can be compiled against."""

    release: Release
    has_cxx11_abi: bool
    hip: str
    """The HIP version it was built with, or empty."""
    cuda: str
    """The CUDA version it was built with, or empty."""
    include: tuple[str, ...]
    lib: str
    python: str
    """The interpreter that it belongs to."""
    python_include: str


def probe_torch(python: str) -> TorchInstall:
    """Ask the interpreter ``python`` for its torch.

    The generated project asks with the same script, so both see the same torch.

    Raises:
        ToolchainError: the interpreter has no torch, or does not run.
    """
    facts = read_facts("torch", python, hint=_HINT)
    return TorchInstall(
        release=parse_release(facts["version"], what="torch"),
        has_cxx11_abi=facts["cxx11_abi"],
        hip=facts["hip"],
        cuda=facts["cuda"],
        include=tuple(facts["include"]),
        lib=facts["lib"],
        python=facts["python"],
        python_include=facts["python_include"],
    )
