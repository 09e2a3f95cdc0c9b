"""What a Hub refuses, and why. ``wire.errors`` says which HTTP status each one becomes."""

from __future__ import annotations

from kernelmill.spec.errors import HostError, HubError, InputError


class Refusal(HubError):
    """A request the Hub does not fulfil."""


class InvalidRequest(Refusal):
    """The request is malformed or asks for something impossible."""

    exit_code = 2


class NotSignedIn(Refusal):
    """The request needs a token and has none."""


class BadCredentials(Refusal):
    """The request's token is unknown."""


class Forbidden(Refusal):
    """The token's owner may not do this."""


class BadTicket(Refusal):
    """What was allowed once is no longer, or never was: the address or token is not valid."""


class BadXetToken(BadTicket):
    """A request to the large file store has no valid token."""


class LargeFileNotFound(Refusal):
    """The large file store has no such thing for the asker."""


class RepoNotFound(Refusal):
    """The repository does not exist, or the asker may not know that it does."""


class HiddenRepo(RepoNotFound):
    """The repository is missing or hidden, and the asker has no token."""


class RevisionNotFound(Refusal):
    """The repository has no such branch, tag or commit."""


class EntryNotFound(Refusal):
    """The revision has no such file or folder."""

    def __init__(self, problem: str, *, commit: str = "") -> None:
        super().__init__(problem)
        self.commit = commit


class AccountNotFound(Refusal):
    """No user or organisation has this name."""

    exit_code = 2


class Conflict(Refusal):
    """Something of that name exists already, or changed at the same moment."""

    exit_code = 2


class RepoExists(Conflict):
    """A repository of that name exists; ``url_path`` leads to it."""

    def __init__(self, problem: str, *, url_path: str, repo_name: str) -> None:
        super().__init__(problem)
        self.url_path = url_path
        self.repo_name = repo_name


class StaleParent(Refusal):
    """The branch has moved past the commit that the request builds on."""


class RefMoved(Conflict):
    """A reference was not where the transaction expected it."""


class TooLarge(Refusal):
    """The request's body exceeds a limit."""


class TooSlow(Refusal):
    """The request's body arrives more slowly than the Hub waits."""


class RangeNotSatisfiable(Refusal):
    """The requested range starts past the end of the file."""

    def __init__(self, problem: str, *, size_bytes: int) -> None:
        super().__init__(problem)
        self.size_bytes = size_bytes


class GitMissing(Refusal):
    """The request needs the git program, which this machine does not have."""


class DataFolderError(HostError):
    """The Hub's data folder cannot be used."""


class ListenError(HostError):
    """The Hub cannot listen at the address it was given."""


class SettingError(InputError):
    """An option of ``kernel-hub`` cannot be used."""


class PackageMissing(HostError):
    """A Python package that the Hub needs is not installed."""
