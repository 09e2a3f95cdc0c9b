"""Who signed a build."""

from kernelmill.runtime.signatures import (
    DEFAULT_POLICIES,
    GitHubWorkflowPolicy,
    VerificationResult,
    verify_variant,
)

__all__ = [
    "DEFAULT_POLICIES",
    "GitHubWorkflowPolicy",
    "VerificationResult",
    "verify_variant",
]
