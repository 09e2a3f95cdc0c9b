"""Generated files, in memory until all of them are known to be writable."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kernelmill.builder.errors import FilesExist
from kernelmill.builder.wording import count_of
from kernelmill.builder.writing import replace_texts, write_hint
from kernelmill.spec.errors import HostError, KernelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileSet:
    """Paths, relative and with ``/``, and the text that belongs there."""

    texts: Mapping[str, str]

    def as_text(self) -> dict[str, str]:
        """Return path -> text, sorted by path."""
        return dict(sorted(self.texts.items()))

    def existing(self, target: Path) -> tuple[str, ...]:
        """Return the paths that exist below ``target`` with another content, sorted."""
        return tuple(path for path in sorted(self.texts) if self._differs(target, path))

    def write(self, target: Path, *, force: bool = False) -> tuple[str, ...]:
        """Write what is not there yet and return its paths; equal files keep their times.

        Raises:
            FilesExist: without ``force``: files exist with another content. Names each. Or a
                folder has the name of a file.
            HostError: a file cannot be written, or is beyond a link. Nothing is written then.
        """
        try:
            return self._write(target, force=force)
        except OSError as error:
            if isinstance(error, KernelError):
                raise
            raise HostError(
                f"cannot write {_shown(error, target)}: {error.strerror}",
                where=str(target),
                hint=write_hint(error),
            ) from error

    def _write(self, target: Path, *, force: bool) -> tuple[str, ...]:
        existing = self.existing(target)
        clashes = [path for path in existing if (target / path).exists()]
        if clashes and not force:
            raise FilesExist(
                f"this would overwrite {count_of(len(clashes), 'file')}:\n{_listing(clashes)}",
                where=str(target),
                hint="use --force to overwrite them",
            )
        _ensure_places(target, existing)
        replace_texts({target / path: self.texts[path] for path in existing})
        return existing

    def removable(self, target: Path, *, force: bool = False) -> tuple[str, ...]:
        """Return the paths that exist below ``target``, sorted.

        Raises:
            FilesExist: some have another content and ``force`` is not set. Names every one.
        """
        present = [path for path in sorted(self.texts) if (target / path).is_file()]
        changed = [path for path in present if self._differs(target, path)]
        if changed and not force:
            raise FilesExist(
                f"this would remove {count_of(len(changed), 'changed file')}:\n{_listing(changed)}",
                where=str(target),
                hint="use --force to remove them all the same",
            )
        return tuple(present)

    def remove(self, target: Path, paths: Sequence[str]) -> None:
        """Delete ``paths``, and the folders that are empty after that."""
        for path in paths:
            (target / path).unlink()
        folders = {parent for path in paths for parent in PurePosixPath(path).parents}
        for folder in sorted(folders - {PurePosixPath()}, reverse=True):
            with suppress(OSError):  # not empty
                (target / folder).rmdir()

    def _differs(self, target: Path, path: str) -> bool:
        place = target / path
        return not place.is_file() or place.read_bytes() != self.texts[path].encode()


def _ensure_places(target: Path, paths: Sequence[str]) -> None:
    """Stop here, before anything is written, when a path is no place for a file of ``target``."""
    home = target.resolve()
    for path in paths:
        if (target / path).is_dir():
            raise FilesExist(f"{path} is a folder", where=str(target), hint="remove it")
    for folder in sorted({(target / path).parent for path in paths}):
        if not folder.resolve().is_relative_to(home):
            raise HostError(
                "is a link out of the folder that is written to",
                where=str(folder),
                hint="remove it",
            )


def _shown(error: OSError, target: Path) -> str:
    name = str(error.filename or target)
    return name.removeprefix(f"{target}/")


def _listing(paths: Sequence[str]) -> str:
    return "\n".join(f"  {path}" for path in paths)
