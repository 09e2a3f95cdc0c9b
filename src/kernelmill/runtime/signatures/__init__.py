"""Signatures of builds: sigstore's bundles, and ed25519 keys for people with a Hub of their own.

Importing this package is cheap, for every process that loads kernels does it: what verifies is
imported when it is asked for, and sigstore and cryptography when there is a signature.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.signatures.requirement import ensure_signed

if TYPE_CHECKING:
    from kernelmill.runtime.signatures.policies import DEFAULT_POLICIES, GitHubWorkflowPolicy
    from kernelmill.runtime.signatures.results import VerificationResult
    from kernelmill.runtime.signatures.verification import verify_variant

__all__ = [
    "DEFAULT_POLICIES",
    "GitHubWorkflowPolicy",
    "VerificationResult",
    "ensure_signed",
    "verify_variant",
]

_HOMES: Final = {
    "DEFAULT_POLICIES": "policies",
    "GitHubWorkflowPolicy": "policies",
    "VerificationResult": "results",
    "verify_variant": "verification",
}


def __getattr__(name: str) -> object:
    """Return a public name from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
