"""Whose sigstore signatures are accepted. sigstore itself is imported when a policy is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.x509 import Certificate

    from kernelmill.spec.signature import Workflow

_ISSUER: Final = "https://token.actions.githubusercontent.com"


class Policy(Protocol):
    """A rule about the certificate of whoever signed; sigstore's own policies are such rules."""

    def verify(self, cert: Certificate) -> None:
        """Raise sigstore's ``VerificationError`` unless the certificate's owner is meant."""


class GitHubWorkflowPolicy:
    """Accept signatures that one of a repository's GitHub workflows made."""

    def __init__(self, *, repo_id: str, signer_uris: Sequence[str]) -> None:
        """Name the repository whose sources are built, and the workflows that may sign.

        Raises:
            ValueError: there is no workflow.
        """
        if not signer_uris:
            raise ValueError("At least one signer URI must be provided")
        self.repo_id = repo_id
        self.signer_uris = list(signer_uris)

    def verify(self, cert: Certificate) -> None:
        """Raise ``VerificationError`` unless issuer, repository and workflow are the named ones."""
        from sigstore.verify import policy  # noqa: PLC0415 - takes 0.3 s, and is optional

        policy.AllOf(
            [
                policy.OIDCIssuer(_ISSUER),
                policy.OIDCIssuerV2(_ISSUER),
                policy.OIDCSourceRepositoryURI(f"https://github.com/{self.repo_id}"),
                policy.AnyOf([policy.OIDCBuildSignerURI(uri) for uri in self.signer_uris]),
            ]
        ).verify(cert)

    def __str__(self) -> str:
        return f"a workflow of {self.repo_id}"


_COMMUNITY: Final = "huggingface/kernels-community"
_COMMUNITY_WORKFLOWS: Final = (
    "build.yaml",
    "build-mac.yaml",
    "build-windows.yaml",
    "sign-old-builds.yaml",
)

DEFAULT_POLICIES: Final[list[Policy]] = [
    GitHubWorkflowPolicy(
        repo_id=_COMMUNITY,
        signer_uris=[
            f"https://github.com/{_COMMUNITY}/.github/workflows/{name}@refs/heads/main"
            for name in _COMMUNITY_WORKFLOWS
        ],
    )
]
"""Who is trusted when nobody is named: the builds of Hugging Face's kernels-community."""


def workflow_policy(workflow: Workflow) -> GitHubWorkflowPolicy:
    """Return the policy that accepts one workflow."""
    return GitHubWorkflowPolicy(repo_id=workflow.repo_id, signer_uris=[workflow.signer_uri])
