"""The files of a build as they are on disk: which there are, where links lead, what changed."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


MAX_DEPTH: Final = 100
"""Most folders in folders; no build has so many, and each costs the interpreter some stack."""


class TooLarge(ValueError):
    """A file holds more than anybody would have written."""


def read_text(path: Path, *, limit_bytes: int) -> str:
    """Return a text file's content, whatever somebody put in its place.

    Raises:
        TooLarge: it has more bytes than ``limit_bytes``.
        OSError: it cannot be read, or is no regular file.
        UnicodeDecodeError: it is not UTF-8.
    """
    # Opening a pipe would wait for its other end.
    descriptor = os.open(
        path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise TooLarge(f"larger than {limit_bytes} bytes")
    return content.decode("utf-8")


def shown_size(size_bytes: int) -> str:
    """Return a size as people read it: ``812 bytes``, ``3.4 kB``; never 0.0 of anything."""
    if size_bytes < 1000:
        return f"{size_bytes} byte{'' if size_bytes == 1 else 's'}"
    size, unit = size_bytes / 1e3, "kB"
    for larger in ("MB", "GB", "TB"):
        if size < 999.95:
            break
        size, unit = size / 1e3, larger
    return f"{size:.1f} {unit}"


class Mark(NamedTuple):
    """What tells a file that was written to from one that was not, without reading it."""

    target: str
    """Where a link leads; empty for a plain file."""
    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    """Changes with each writing, and cannot be set back without the machine's clock."""
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One file, or what is in the place of one."""

    path: str
    """From the build's folder, with ``/``."""
    mark: Mark | None
    """None for what cannot be taken for a file of the build."""
    problem: str = ""
    """Why not."""


class Survey:
    """Looks through a folder, following links but not out of ``root``."""

    def __init__(self, folder: str, root: str) -> None:
        """Both without links in them."""
        self._folder = folder
        self._root = root
        self._folders: dict[str, str] = {}

    def files(self) -> Iterator[Found]:
        """Return what is in the folder, in the order of the paths of each folder."""
        return self._below(self._folder, "")

    def _below(self, folder: str, prefix: str) -> Iterator[Found]:
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            place = prefix.rstrip("/") or folder
            yield Found(
                path=place, mark=None, problem=f"Unreadable folder: {place}: {error.strerror}"
            )
            return
        for entry in found:
            path = prefix + entry.name
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                each = None if is_folder else self._look_at(entry, path)
            except OSError:  # it went away in the meantime
                yield Found(path=path, mark=None, problem=f"Missing file: {path}")
                continue
            if each is not None:
                yield each
            elif path.count("/") >= MAX_DEPTH:
                yield Found(path=path, mark=None, problem=f"Too many folders in folders: {path}")
            else:
                yield from self._below(entry.path, f"{path}/")

    def _look_at(self, entry: os.DirEntry[str], path: str) -> Found:
        if not entry.is_symlink():
            return self._judge(path, "", entry.path, entry.stat(follow_symlinks=False))
        if os.path.isdir(entry.path):  # noqa: PTH112 - as above
            return Found(path=path, mark=None, problem=f"Linked folder: {path}")
        target = self._resolve(entry.path)
        if not (target and _is_below(target, self._root)):
            if not target:
                return Found(path=path, mark=None, problem=f"Link to nowhere: {path}")
            out = f"Link out of {self._root}: {path} -> {target}"
            return Found(path=path, mark=None, problem=out)
        try:
            return self._judge(path, target, target, os.lstat(target))
        except OSError:
            return Found(path=path, mark=None, problem=f"Missing file: {path}")

    def _judge(self, path: str, link: str, target: str, status: os.stat_result) -> Found:
        if not stat.S_ISREG(status.st_mode):
            return Found(path=path, mark=None, problem=f"Not a regular file: {path}")
        if not _is_below(target, self._root):
            out = f"Link out of {self._root}: {path} -> {target}"
            return Found(path=path, mark=None, problem=out)
        return Found(path=path, mark=mark_of(status, link))

    def _resolve(self, path: str) -> str:
        """Return where a link ends; nothing for a loop.

        NOTE: huggingface_hub's links lead up through folders that are known to be none, and down
        to a blob: that is quicker to follow than to ask the system for each folder of the way.
        """
        link = os.readlink(path)  # noqa: PTH115 - pathlib costs more than all the rest
        steps = link.split("/")
        is_plain = steps[0] == ".." and ".." not in steps[steps.count("..") :]
        if is_plain:
            place, name = os.path.split(os.path.normpath(f"{path}/../{link}"))
            if place not in self._folders:
                self._folders[place] = os.path.realpath(place)
            target = f"{self._folders[place]}/{name}"
            if not os.path.islink(target):  # noqa: PTH114 - as above
                return target
        try:
            return os.path.realpath(path, strict=True)
        except FileNotFoundError:
            return os.path.realpath(path)
        except OSError:
            return ""


def mark_of(status: os.stat_result, target: str = "") -> Mark:
    """Return the mark of a file from what the system says of it."""
    return Mark(target, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _is_below(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")
