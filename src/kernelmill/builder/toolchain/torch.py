"""A torch to compile against, read from its files: importing it would take seconds."""

from __future__ import annotations

import sysconfig
from dataclasses import field
from typing import TYPE_CHECKING

from kernelmill.builder.toolchain.facts import read_facts
from kernelmill.spec.values import dataclass
from kernelmill.spec.version import Release, parse_release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.builder.sdk.store import Sdk

_HINT = "install torch, for example with: pip install torch"


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchTarget:
    """A torch that extensions can be compiled against: the installed one, or one of an SDK."""

    release: Release
    has_cxx11_abi: bool
    hip: str
    """The HIP version it was built with, or empty."""
    cuda: str
    """The CUDA version it was built with, or empty."""
    include: tuple[str, ...]
    lib: str
    """The folder of its libraries, or of stubs of them."""
    python: str
    """The interpreter that it belongs to; that of the build for an SDK's."""
    python_include: str
    sdk: str = ""
    """The folder of the package in an SDK; empty for the installed torch."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name -> sha256 of what the SDK is made of."""

    @property
    def is_installed(self) -> bool:
        """Whether a build against it can be loaded here."""
        return not self.sdk

    @property
    def role(self) -> str:
        """What it is here, in words."""
        return "installed" if self.is_installed else "built against"

    def __str__(self) -> str:
        return (
            f"torch {self.release}" if self.is_installed else f"the headers of torch {self.release}"
        )


def torch_of_sdk(sdk: Sdk, *, python: str) -> TorchTarget:
    """Return the torch of an SDK, for builds with the headers of the interpreter ``python``."""
    root, facts = sdk.tree / "torch", sdk.record.facts
    return TorchTarget(
        release=parse_release(sdk.record.version, what="torch"),
        has_cxx11_abi=facts.get("cxx11-abi") == "yes",
        hip=facts.get("hip", ""),
        cuda=facts.get("cuda", ""),
        include=(str(root / "include"), str(root / "include/torch/csrc/api/include")),
        lib=str(root / "lib"),
        python=python,
        python_include=sysconfig.get_paths()["include"],
        sdk=str(root),
        inputs=sdk.inputs,
    )


def probe_torch(python: str) -> TorchTarget:
    """Ask the interpreter ``python`` for its torch.

    The generated project asks with the same script, so both see the same torch.

    Raises:
        ToolchainError: the interpreter has no torch, or does not run.
    """
    facts = read_facts("torch", python, hint=_HINT)
    return TorchTarget(
        release=parse_release(facts["version"], what="torch"),
        has_cxx11_abi=facts["cxx11_abi"],
        hip=facts["hip"],
        cuda=facts["cuda"],
        include=tuple(facts["include"]),
        lib=facts["lib"],
        python=facts["python"],
        python_include=facts["python_include"],
    )
