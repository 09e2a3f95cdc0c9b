"""The folder beside the sources where variants are made, one build at a time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from kernelmill.builder.package import OUTPUT_FOLDER
from kernelmill.builder.writing import REFUSED_BY_DISK, remove, write_hint
from kernelmill.spec.editions.values import UNBUILDABLE
from kernelmill.spec.errors import HostError, KernelError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORK_FOLDER = ".kernelmill"


def ensure_usable(root: Path) -> None:
    """Stop here, before anything is compiled, when the result could not be put into its place.

    Raises:
        HostError: it could not.
    """
    name = str(root.absolute())
    if not name.isprintable() or UNBUILDABLE.search(name):
        raise HostError(
            f"the folder's path {name!r} holds a character that build tools mistake",
            hint="build in a folder with a plain name",
        )
    output = root / OUTPUT_FOLDER
    if output.exists() and not output.is_dir():
        raise HostError(f"{OUTPUT_FOLDER!r} is not a folder", where=str(root), hint="remove it")


def make_folder(folder: Path) -> None:
    """Make a folder of builds.

    Raises:
        HostError: it cannot be made, or a part of it is a link: what is written and removed there
            would be somewhere else. ``WORK_FOLDER`` itself may be one.
    """
    for place in (folder, *folder.parents):
        if place.name == WORK_FOLDER or WORK_FOLDER not in place.parts:
            break
        if place.is_symlink():
            raise HostError("is a link", where=str(place), hint="remove it: builds make folders")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(
            f"cannot make the folder: {error.strerror}",
            where=str(folder),
            hint="builds are made beside the sources: use a copy that you may write to",
        ) from error


def clear(folder: Path) -> None:
    """Remove a folder of builds, and all that is in it.

    Raises:
        HostError: it cannot be removed.
    """
    try:
        remove(folder)
    except OSError as error:
        raise HostError(
            f"cannot be removed: {error.strerror}", where=str(folder), hint="remove it by hand"
        ) from error


@contextmanager
def only_build(folder: Path) -> Iterator[None]:
    """Keep every other build out of ``folder``, in which all is written.

    Raises:
        HostError: there is one, or the disk is full, or takes nothing for another reason.
    """
    try:
        with FileLock(folder / "lock", timeout=0):
            yield
    except Timeout as error:
        raise HostError(
            "this variant is being built already", where=str(folder), hint="wait until it is done"
        ) from error
    except OSError as error:
        if isinstance(error, KernelError) or error.errno not in REFUSED_BY_DISK:
            raise
        raise HostError(
            f"cannot be written: {error.strerror}",
            where=str(error.filename or folder),
            hint=write_hint(error),
        ) from error
