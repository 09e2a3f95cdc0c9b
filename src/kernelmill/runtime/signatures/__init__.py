"""Signatures of builds: sigstore's bundles, and ed25519 keys for people with a Hub of their own.

Importing this package imports neither sigstore nor cryptography.
"""

from __future__ import annotations

from kernelmill.runtime.signatures.policies import DEFAULT_POLICIES, GitHubWorkflowPolicy
from kernelmill.runtime.signatures.requirement import ensure_signed
from kernelmill.runtime.signatures.results import VerificationResult
from kernelmill.runtime.signatures.verification import verify_variant

__all__ = [
    "DEFAULT_POLICIES",
    "GitHubWorkflowPolicy",
    "VerificationResult",
    "ensure_signed",
    "verify_variant",
]
