"""Where a cache is: behind HTTP, or in a folder. Both hold the same files."""

from __future__ import annotations

import http.client
import netrc
import shutil
import urllib.error
import urllib.request
from base64 import b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Protocol, cast
from urllib.parse import unquote, urlsplit

from kernelmill.builder.errors import CacheError
from kernelmill.spec.errors import InputError
from kernelmill.spec.narinfo import CACHE_INFO, INFO_NAME, MAX_BYTES
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TIMEOUT_S: Final = 60
_MISSING: Final = {403, 404, 410}
"""Statuses for what is not there; object stores say 403."""
_MAX_MESSAGE: Final = 300


class Place(Protocol):
    """The files of one cache, by names such as ``nar/<hash>.nar.zst``."""

    @property
    def address(self) -> str:
        """What the user calls it."""

    def read(self, name: str) -> bytes | None:
        """Return a small file; None if there is none."""

    def open(self, name: str) -> IO[bytes] | None:
        """Open a file to read, once; None if there is none."""

    def has(self, name: str) -> bool:
        """Tell whether there is such a file."""

    def write(self, name: str, source: Path) -> None:
        """Keep a file's content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPlace:
    """A cache behind HTTP: a Hub's, or any server of files."""

    address: str
    authorization: str = ""

    def read(self, name: str) -> bytes | None:
        """Return a small file; None if there is none."""
        file = self.open(name)
        if file is None:
            return None
        with file, _explained(self.address):
            return file.read(MAX_BYTES + 1)

    def open(self, name: str) -> IO[bytes] | None:
        """Open a file to read, once; None if there is none."""
        return self._ask("GET", name)

    def has(self, name: str) -> bool:
        """Tell whether there is such a file."""
        file = self._ask("HEAD", name)
        if file is not None:
            file.close()
        return file is not None

    def write(self, name: str, source: Path) -> None:
        """Keep a file's content."""
        with source.open("rb") as body:
            size = source.stat().st_size
            file = self._ask("PUT", name, body=body, size=size)
        if file is None:
            raise CacheError(
                "there is no cache here that this token may write to", where=self.address
            )
        file.close()

    def _ask(
        self, method: str, name: str, *, body: IO[bytes] | None = None, size: int = 0
    ) -> IO[bytes] | None:
        request = urllib.request.Request(f"{self.address}/{name}", data=body, method=method)
        if body is not None:
            request.add_header("Content-Length", str(size))
            request.add_header("Content-Type", "application/octet-stream")
        if self.authorization:
            # Not for those to whom a redirect leads.
            request.add_unredirected_header("Authorization", self.authorization)
        with _explained(self.address):
            try:
                return cast("IO[bytes]", urllib.request.urlopen(request, timeout=_TIMEOUT_S))
            except urllib.error.HTTPError as error:
                with error:
                    if error.code in _MISSING and method != "PUT":
                        return None
                    raise _refused(error, self.address) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPlace:
    """A cache in a folder."""

    folder: Path

    @property
    def address(self) -> str:
        """What the user calls it."""
        return str(self.folder)

    def read(self, name: str) -> bytes | None:
        """Return a small file; None if there is none."""
        file = self.open(name)
        if file is None:
            return None
        with file:
            return file.read(MAX_BYTES + 1)

    def open(self, name: str) -> IO[bytes] | None:
        """Open a file to read; None if there is none."""
        try:
            return (self.folder / name).open("rb")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CacheError(f"cannot be read: {error.strerror}", where=self.address) from error

    def has(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return (self.folder / name).is_file()

    def write(self, name: str, source: Path) -> None:
        """Keep a file's content, all at once."""
        target = self.folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            about = self.folder / INFO_NAME
            if not about.exists():
                about.write_text(CACHE_INFO, encoding="utf-8")
            new = target.with_name(f".{target.name}.new")
            shutil.copyfile(source, new)
            new.replace(target)
        except OSError as error:
            raise CacheError(f"cannot be written: {error.strerror}", where=self.address) from error


def open_place(address: str, env: Mapping[str, str]) -> Place:
    """Return the cache at an address: ``https://...``, ``file:///...`` or a folder.

    Raises:
        InputError: it is none of these.
    """
    parts = urlsplit(address)
    if parts.scheme == "file" and not parts.netloc:
        return FolderPlace(folder=Path(unquote(parts.path)))
    if parts.scheme in {"http", "https"} and parts.hostname and not parts.query:
        plain = address.rstrip("/")
        return HttpPlace(address=plain, authorization=_authorization(plain, env))
    if "://" in address or not address:
        raise InputError(
            f"{address!r} is not the address of a cache", hint="https://HUB/nix/OWNER, or a folder"
        )
    return FolderPlace(folder=Path(address).expanduser().absolute())


def _authorization(address: str, env: Mapping[str, str]) -> str:
    """Return what to show at ``address``: a token goes to its own Hub, and to nobody else."""
    token, endpoint = env.get("HF_TOKEN", "").strip(), env.get("HF_ENDPOINT", "")
    if token and urlsplit(endpoint)[:2] == urlsplit(address)[:2]:
        return f"Bearer {token}"
    file = Path(env.get("NETRC") or "~/.netrc").expanduser()
    try:
        found = netrc.netrc(file).authenticators(urlsplit(address).hostname or "")
    except (OSError, netrc.NetrcParseError):
        return ""
    return f"Basic {b64encode(f'{found[0]}:{found[2]}'.encode()).decode()}" if found else ""


@contextmanager
def _explained(address: str) -> Iterator[None]:
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise CacheError(
            f"does not answer: {reason}", where=address, hint="is the address right?"
        ) from error


def _refused(error: urllib.error.HTTPError, address: str) -> CacheError:
    text = error.headers.get("X-Error-Message") or error.reason
    hint = ""
    if error.code == 401:
        hint = "set HF_ENDPOINT and HF_TOKEN, or add the machine to ~/.netrc"
    return CacheError(f"{text[:_MAX_MESSAGE]} (HTTP {error.code})", where=address, hint=hint)
