"""Where SDKs are kept: one folder each, with ``sdk.json`` and ``tree/``, put there as a whole."""

from __future__ import annotations

import errno
import re
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError, SdkMissing
from kernelmill.builder.package import replace_folder
from kernelmill.builder.sdk import format as sdk_format
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelmill.builder.sdk.format import SdkRecord

VARIABLE: Final = "KERNELMILL_SDKS"
RECORD_NAME: Final = "sdk.json"
TREE_NAME: Final = "tree"
_SCRATCH: Final = ".new-"
_TRIES: Final = 9
_OVERTAKEN: Final = frozenset({errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST})
"""What is said when the folder to replace has gone meanwhile, or has come."""
_LEFTOVER_AGE_S: Final = 24 * 3600
_SPELLING: Final = re.compile(r"(?P<kind>[a-z]+(?:-[a-z]+)*)-(?P<version>[0-9][A-Za-z0-9.+]*)")
_NUMBERS: Final = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdk:
    """An SDK on this machine."""

    record: SdkRecord
    folder: Path

    @property
    def tree(self) -> Path:
        """The files."""
        return self.folder / TREE_NAME

    @property
    def inputs(self) -> dict[str, str]:
        """Name -> sha256 of what a build used: its tree, and the files that it was made of."""
        sources = {it.file: it.sha256 for it in self.record.inputs}
        return {self.record.name: self.record.nar_sha256, **sources}


def parse_name(text: str, *, where: str = "") -> tuple[str, str]:
    """Read an SDK's name: ``torch-2.12.0`` -> ``torch`` and ``2.12.0``.

    Raises:
        InputError: it is none.
    """
    if match := _SPELLING.fullmatch(text):
        return match["kind"], match["version"]
    raise InputError(
        f"{text!r} is not the name of an SDK", where=where, hint="`kernel-builder sdk list` has all"
    )


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of SDKs; it need not exist."""

    folder: Path

    def installed(self) -> tuple[Sdk, ...]:
        """Return every SDK that is here, by kind and version.

        Raises:
            SdkError: one has a damaged description.
        """
        records = sorted(self.folder.glob(f"*/{RECORD_NAME}"))
        found = (self._read(it.parent) for it in records if not it.parent.name.startswith("."))
        return tuple(sorted(found, key=lambda it: (it.record.kind, version_key(it.record.version))))

    def find(self, kind: str, version: str) -> Sdk | None:
        """Return the newest SDK of ``version``.

        Args:
            kind: the recipe's name.
            version: the whole of it, or a beginning: ``2.12`` finds ``2.12.0+cu130``.
        """
        fitting = (it for it in self.installed() if it.record.kind == kind)
        return max(
            (it for it in fitting if is_within(it.record.version, version)),
            key=lambda it: version_key(it.record.version),
            default=None,
        )

    def require(self, kind: str, version: str) -> Sdk:
        """Return the SDK, as ``find`` does.

        Raises:
            SdkMissing: it is not here; the hint says how to get it.
        """
        found = self.find(kind, version)
        if found is None:
            raise missing(kind, version)
        return found

    def verify(self, sdk: Sdk) -> str:
        """Return what is wrong with the files of ``sdk``, or nothing."""
        if not sdk.tree.is_dir():
            return f"{TREE_NAME} is missing"
        try:
            actual = nar_sha256(sdk.tree)
        except OSError as error:
            return f"{error.filename or TREE_NAME} cannot be read: {error.strerror}"
        if actual != sdk.record.nar_sha256:
            return f"NAR sha256 is {actual}, want {sdk.record.nar_sha256}"
        return ""

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a folder on the store's file system; what is left in it disappears."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._remove_leftovers()
            with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=self.folder) as name:
                yield Path(name)
        except OSError as error:
            raise SdkError(
                f"cannot write SDKs here: {error.strerror or error}",
                where=str(self.folder),
                hint=f"name another folder with {VARIABLE}",
            ) from error

    def install(self, record: SdkRecord, tree: Path) -> Sdk:
        """Put an SDK into the store, all at once; one of the same name is replaced.

        Args:
            record: its description.
            tree: its files, on the store's file system; they are moved.
        """
        with self.scratch() as scratch:
            new = scratch / record.name
            new.mkdir()
            tree.rename(new / TREE_NAME)
            (new / RECORD_NAME).write_text(sdk_format.dumps(record), encoding="utf-8", newline="\n")
            _put(new, self.folder / record.name, trash=scratch / "old")
        return Sdk(record=record, folder=self.folder / record.name)

    def remove(self, sdk: Sdk) -> None:
        """Remove an SDK."""
        with self.scratch() as scratch:
            sdk.folder.rename(scratch / "old")

    def _remove_leftovers(self) -> None:
        """Remove what processes left behind that were killed a day ago or earlier."""
        for folder in self.folder.glob(f"{_SCRATCH}*"):
            if time.time() - folder.stat().st_mtime > _LEFTOVER_AGE_S:
                shutil.rmtree(folder, ignore_errors=True)

    def _read(self, folder: Path) -> Sdk:
        place = folder / RECORD_NAME
        try:
            content = place.read_text(encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise SdkError(
                f"cannot be read: {error.strerror}",
                where=str(place),
                hint="remove the SDK's folder and fetch it again",
            ) from error
        record = sdk_format.parse(content, where=str(place))
        if record.name != folder.name:
            raise SdkError(
                f"this is {record.name}, in a folder of another name",
                where=str(place),
                hint="rename the folder, or remove it",
            )
        return Sdk(record=record, folder=folder)


def _put(new: Path, target: Path, *, trash: Path) -> None:
    """Put an SDK in its place, also when another process puts the same one there just then."""
    for is_last in (False,) * _TRIES + (True,):
        try:
            replace_folder(new, target, trash=trash)
        except OSError as error:
            if is_last or error.errno not in _OVERTAKEN:
                raise
        else:
            return


def open_store(env: Mapping[str, str]) -> Store:
    """Return the store that ``KERNELMILL_SDKS`` names, else the one in the user's cache."""
    if env.get(VARIABLE):
        return Store(Path(env[VARIABLE]).expanduser().absolute())
    cache = env.get("XDG_CACHE_HOME") or "~/.cache"
    return Store(Path(cache).expanduser().absolute() / "kernelmill" / "sdks")


def missing(kind: str, version: str) -> SdkMissing:
    """Return the error for an SDK that is not here."""
    name = f"{kind}-{version}"
    hint = f"kernel-builder sdk fetch {name}"
    return SdkMissing(f"the SDK {name} is not here", hint=hint, name=name)


def is_within(version: str, asked: str) -> bool:
    """Tell whether ``version`` is ``asked``, or a more exact spelling of it."""
    return version == asked or version.startswith((f"{asked}.", f"{asked}+"))


def version_key(version: str) -> tuple[tuple[int, ...], str]:
    """Return what orders versions: 2.9 before 2.12, and ``+cpu`` before ``+cu130``."""
    public, _, local = version.partition("+")
    return tuple(map(int, _NUMBERS.findall(public))), local
