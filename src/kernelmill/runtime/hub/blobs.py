"""The files of a repository on disk, in huggingface_hub's layout: named by content, then linked.

A blob gets its name once all of it is there and its hash is the one that the Hub listed. So what
has a name is whole, and a download that was killed leaves only a file that the next one goes on
with. Call it under the repository's lock.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Final

from kernelmill.spec.errors import DigestMismatch, HubError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.runtime.hub import RemoteFile

READ_BYTES: Final = 1 << 20


class BlobStore:
    """The blobs and snapshots of one repository."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, file: RemoteFile) -> bool:
        """Tell whether the blob is here; one that was cut off is not.

        Raises:
            DigestMismatch: it is here, and is not what it is called after.
        """
        path = self._path(file)
        try:
            if path.stat().st_size < file.size_bytes:
                return False
            with path.open("rb") as content:
                actual = hash_of(content, file)
        except FileNotFoundError:
            return False
        if actual != file.blob_name:
            raise self._changed(file, actual)
        return True

    def forget(self, file: RemoteFile) -> None:
        """Remove the blob unless it is what it is called after."""
        try:
            if self.has(file):
                return
        except DigestMismatch:
            pass
        self._path(file).unlink(missing_ok=True)

    @contextmanager
    def receive(self, file: RemoteFile) -> Iterator[IncompleteBlob]:
        """Take in a blob, which gets its name at the end of the block.

        Raises:
            HubError: what came is something else.
            DigestMismatch: what was here is no beginning of it.
        """
        path = self._path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not `<name>.incomplete`, which is huggingface_hub's, and has another lock.
        partial = path.with_name(f"{path.name}.kernelmill.incomplete")
        is_cut_off = path.is_file()
        if is_cut_off:
            shutil.copyfile(path, partial)
        with partial.open("ab+") as output:
            blob = IncompleteBlob(output, file)
            yield blob
            output.flush()
            output.seek(0)
            actual = hash_of(output, file)
        if actual != file.blob_name:
            partial.unlink()
            raise (
                self._changed(file, actual)
                if is_cut_off
                else HubError(
                    f"{file.path} arrived damaged: its hash is {actual}, not {file.blob_name}",
                    hint="try again; if it stays so, tell the owner of the Hub",
                )
            )
        partial.replace(path)

    def _changed(self, file: RemoteFile, actual: str) -> DigestMismatch:
        return DigestMismatch(
            f"File hash mismatch for {file.path}: expected: {file.blob_name}, got: {actual}",
            where=str(self._path(file)),
            hint="somebody changed this file: `kernels update REPO` fetches it again",
        )

    def link(self, file: RemoteFile, commit: str) -> None:
        """Make the blob appear in the snapshot of ``commit``: as a link, or else as a copy."""
        path = self._folder / "snapshots" / commit / file.path
        blob = self._path(file)
        target = os.path.relpath(blob, path.parent)
        with suppress(OSError):
            if os.readlink(path) == target:  # noqa: PTH115 - compared as text
                return
        path.parent.mkdir(parents=True, exist_ok=True)
        new = self._folder / f".{os.urandom(8).hex()}.incomplete"
        try:
            try:
                new.symlink_to(target)
            except (OSError, NotImplementedError):  # Windows without the right to make links
                shutil.copyfile(blob, new)
            new.replace(path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise

    def _path(self, file: RemoteFile) -> Path:
        return self._folder / "blobs" / file.blob_name


class IncompleteBlob:
    """A blob of which more is to come."""

    def __init__(self, output: IO[bytes], file: RemoteFile) -> None:
        self._output = output
        self._limit = file.size_bytes
        self._path = file.path
        self.size_bytes = output.seek(0, os.SEEK_END)
        if self.size_bytes > self._limit:
            self.restart()

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing more to come. An empty file is asked for all the same."""
        return 0 < self._limit == self.size_bytes

    def restart(self) -> None:
        """Forget what has arrived."""
        self._output.truncate(0)
        self.size_bytes = 0

    def write(self, chunk: bytes) -> None:
        """Add what has arrived.

        Raises:
            HubError: it is more than the Hub listed.
        """
        self.size_bytes += len(chunk)
        if self.size_bytes > self._limit:
            raise HubError(
                f"{self._path} is larger than the {self._limit} bytes that the Hub listed",
                hint="try again; if it stays so, tell the owner of the Hub",
            )
        self._output.write(chunk)


def hash_of(content: IO[bytes], file: RemoteFile) -> str:
    """Return the hash of an open file, of the kind that the blob is named after."""
    if file.sha256:
        digest = hashlib.sha256()
    else:
        # git's: of a header with the size, and the content; sha256 in repositories of that kind.
        is_long = len(file.oid) == hashlib.sha256().digest_size * 2
        digest = hashlib.sha256() if is_long else hashlib.sha1(usedforsecurity=False)
        digest.update(b"blob %d\0" % os.fstat(content.fileno()).st_size)
    while chunk := content.read(READ_BYTES):
        digest.update(chunk)
    return digest.hexdigest()
