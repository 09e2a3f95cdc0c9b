"""Where a kernel's build is, in the shape of the original's: on this machine, or on a Hub."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelmill.runtime.fetch import fetch_variant
from kernelmill.runtime.load import variant_of as read_variant
from kernelmill.runtime.loaded import RepoInfo
from kernelmill.runtime.revisions import choose_revision
from kernelmill.runtime.trust import ensure_trusted
from kernelmill.runtime.upstream.metadata import Metadata
from kernelmill.runtime.upstream.sessions import session_of
from kernelmill.runtime.upstream.variants import Variant, variant_of
from kernelmill.spec.errors import InvalidVariant
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime import resolvers
    from kernelmill.runtime.trust import Trust
    from kernelmill.runtime.upstream.sessions import Api


@dataclass(frozen=True)
class LocalKernel:
    """A build in a folder."""

    variant_path: Path
    metadata: Metadata
    origin: RemoteKernel | None = None
    """The repository that it was fetched from; None for a folder of the caller's own."""

    @staticmethod
    def from_location(location: resolvers.LocalKernel) -> LocalKernel:
        """Return the same build in this shape."""
        return LocalKernel(location.folder, Metadata.from_spec(location.metadata))

    @property
    def variant_str(self) -> str:
        """The name of its folder."""
        return self.variant_path.name

    @property
    def repo_info(self) -> RepoInfo | None:
        """The repository that it was fetched from."""
        if self.origin is None:
            return None
        return RepoInfo(repo_id=self.origin.repo_id, revision=self.origin.revision)

    def install(self, *, api: Api | None) -> LocalKernel:  # noqa: ARG002 - as for a remote one
        """Return itself."""
        return self


@dataclass(frozen=True)
class RemoteKernel:
    """A build on a Hub, of which only the metadata is here."""

    repo_id: str
    revision: str
    metadata: Metadata
    variant: Variant
    allowed: Trust = field(default=False, kw_only=True, compare=False, repr=False)
    """Whom its resolver trusts besides the publishers that the Hub vouches for."""

    @staticmethod
    def from_location(location: resolvers.RemoteKernel, allowed: Trust) -> RemoteKernel:
        """Return the same build in this shape."""
        variant = read_variant(location.variant)
        if variant is None:
            raise InvalidVariant(f"{location.variant!r} is not the name of a build")
        return RemoteKernel(
            location.repo_info.repo_id,
            location.repo_info.revision,
            Metadata.from_spec(location.metadata),
            variant_of(variant),
            allowed=allowed,
        )

    @property
    def variant_str(self) -> str:
        """The name of its folder."""
        return self.variant.variant_str

    def install(self, *, api: Api | None) -> LocalKernel:
        """Fetch the build unless it is here.

        Raises:
            NotTrusted: its publisher is not trusted, nor is it allowed; a ``ValueError``.
        """
        session, repo = session_of(api), RepoId.parse(self.repo_id)
        ensure_trusted(session.hub, repo, self.allowed)
        commit = choose_revision(session.hub, repo, revision=self.revision).commit
        folder = fetch_variant(
            session.hub, session.cache, repo, commit=commit, variant=self.variant_str
        )
        return LocalKernel(folder, self.metadata, origin=self)


Location = LocalKernel | RemoteKernel
