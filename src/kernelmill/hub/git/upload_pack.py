"""Run ``git upload-pack``, which serves clones and fetches."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import zlib
from typing import TYPE_CHECKING, Final

from kernelmill.hub.errors import GitMissing, InvalidRequest, TooLarge
from kernelmill.hub.git.bare import bare_repo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.repos import Repo

SERVICE: Final = "git-upload-pack"
PROTOCOL: Final = re.compile(r"[A-Za-z0-9=:.\-]{0,64}")
PIECE_BYTES: Final = 64 * 1024
MAX_WANTS_BYTES: Final = 64 * 1024 * 1024
GZIP: Final = 16 + zlib.MAX_WBITS


def advertise(hub: Hub, repo: Repo, protocol: str) -> bytes:
    """Return what a client asks for first: capabilities, and references in older protocols."""
    with bare_repo(hub, repo) as folder:
        done = subprocess.run(
            _command(folder, "--advertise-refs"),
            env=_environment(folder, protocol),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=True,
        )
    # Protocol 2 starts with its version at once.
    first = b"" if "version=2" in protocol.split(":") else _packet(f"# service={SERVICE}\n")
    return first + done.stdout


def answer(hub: Hub, repo: Repo, protocol: str, wants: bytes) -> Iterator[bytes]:
    """Yield the answer to what a client wants."""
    with bare_repo(hub, repo) as folder, tempfile.TemporaryFile(dir=hub.scratch) as file:
        file.write(wants)
        file.seek(0)
        with subprocess.Popen(
            _command(folder),
            env=_environment(folder, protocol),
            stdin=file,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            try:
                while piece := process.stdout.read1(PIECE_BYTES):  # type: ignore[attr-defined]
                    yield piece
            finally:
                process.kill()  # a client that goes away must not leave it running


def unpack_wants(body: bytes, encoding: str) -> bytes:
    """Return a request's body as git wrote it.

    Raises:
        InvalidRequest: it is not what its encoding says.
        TooLarge: it unpacks to more than a request may have.
    """
    if encoding not in {"gzip", "x-gzip"}:
        return body
    inflate = zlib.decompressobj(GZIP)
    try:
        data = inflate.decompress(body, MAX_WANTS_BYTES)
    except zlib.error as error:
        raise InvalidRequest(f"the request is not gzip: {error}") from error
    if inflate.unconsumed_tail:
        raise TooLarge(f"the request unpacks to more than {MAX_WANTS_BYTES} bytes")
    if not inflate.eof:
        raise InvalidRequest("the request's gzip ends too early")
    return data


def check_protocol(text: str) -> str:
    """Return the protocol that a client asks for, to be put into git's environment.

    Raises:
        InvalidRequest: it is no such thing.
    """
    if not PROTOCOL.fullmatch(text):
        raise InvalidRequest("the header Git-Protocol cannot be read")
    return text


def _command(folder: Path, *options: str) -> list[str]:
    git = shutil.which("git")
    if git is None:
        raise GitMissing("the Hub's machine has no git program, so it cannot serve clones")
    return [git, "upload-pack", "--strict", "--stateless-rpc", *options, str(folder)]


def _environment(folder: Path, protocol: str) -> dict[str, str]:
    """Return git's environment: nothing of the machine's or the user's settings gets in."""
    return {
        "PATH": os.defpath,
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_PROTOCOL": protocol,
        "LC_ALL": "C",
    }


def _packet(text: str) -> bytes:
    line = text.encode()
    return b"%04x%s0000" % (len(line) + 4, line)
