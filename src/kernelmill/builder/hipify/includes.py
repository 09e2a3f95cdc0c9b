"""The headers of a repository that its sources include, and those that these include."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_HEADER_SUFFIXES: Final = frozenset(
    {".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".hip"}
)


def read_text(path: Path) -> str:
    """Return a source's text; bytes that are no UTF-8 stay what they are."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def read_closure(root: Path, sources: Iterable[str], folders: Iterable[str]) -> dict[str, str]:
    """Return path -> text of ``sources``, of the headers in ``folders``, and of all they include.

    Paths are relative to ``root``; what lies outside it belongs to a compiler or a library.
    """
    folders = list(folders)
    waiting = [*sources, *_headers_below(root, folders)]
    found: dict[str, str] = {}
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = read_text(root / path)
        for match in INCLUDE.finditer(found[path]):
            waiting += find_included(root, path, match, folders)
    return dict(sorted(found.items()))


def find_included(
    root: Path, source: str, include: re.Match[str], folders: Iterable[str]
) -> list[str]:
    """Return the file of the repository that is included, or nothing."""
    quoted, angled = include.groups()
    places = [*([str(PurePosixPath(source).parent)] if quoted else []), *folders]
    for place in places:
        path = os.path.normpath(f"{place}/{quoted or angled}")
        is_inside = not path.startswith(("../", "/"))
        if is_inside and (root / path).is_file():
            return [path]
    return []


def _headers_below(root: Path, folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        if PurePosixPath(os.path.normpath(folder)) == PurePosixPath():
            continue  # the repository itself: what is included of it is found one by one
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in _HEADER_SUFFIXES and path.is_file():
                yield os.path.normpath(path.relative_to(root).as_posix())
