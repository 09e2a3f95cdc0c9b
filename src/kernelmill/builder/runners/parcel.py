"""What travels between machines, as plain values: sources, SDKs, and finished variants."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import CheckError, SdkError
from kernelmill.builder.package import METADATA_NAME, variant_files
from kernelmill.builder.sdk import format as sdk_format
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sources import LICENSE_NAMES, MANIFEST_NAME, ensure_regular
from kernelmill.spec.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.builder.sdk.store import Sdk, Store
    from kernelmill.builder.sources import KernelTree

_EXECUTABLE: Final = 0o100


@dataclass(frozen=True, slots=True)
class File:
    """One file."""

    path: str
    """Relative, with ``/``."""
    content: bytes
    is_executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedSdk:
    """An SDK on its way to another store."""

    record: str
    """The text of its ``sdk.json``."""
    archive: bytes
    """A tar of its tree."""


def pack_sources(tree: KernelTree) -> tuple[File, ...]:
    """Return what a build of ``tree`` reads, and nothing else that lies about there."""
    licenses = [name for name in LICENSE_NAMES if (tree.root / name).is_file()]
    paths = sorted({MANIFEST_NAME, *licenses, *tree.files})
    ensure_regular(tree.root, paths)
    return tuple(_read(tree.root, path) for path in paths)


def pack_folder(folder: Path) -> tuple[File, ...]:
    """Return the files of a finished variant."""
    covered = [path for path, _ in variant_files(folder)]
    return tuple(_read(folder, path) for path in (*covered, METADATA_NAME))


def write_files(files: Sequence[File], folder: Path) -> None:
    """Write ``files`` below ``folder``, and nowhere else.

    Raises:
        CheckError: a path leads out of it, and nothing was written; or there is no such file.
        HostError: they cannot be written.
    """
    for file in files:
        path = PurePosixPath(file.path)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise CheckError(
                f"{file.path!r} leads out of the folder", hint="do not use this cluster"
            )
    for file in files:
        try:
            _write_file(file, folder / file.path)
        except ValueError as error:  # a name that no file can have
            raise CheckError(
                f"{file.path!r} is no file's name", hint="do not use this cluster"
            ) from error
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            raise CheckError(
                f"{file.path!r} is a file and a folder", hint="do not use this cluster"
            ) from error
        except OSError as error:
            raise HostError(
                f"cannot write {file.path!r}: {error.strerror}",
                where=str(folder),
                hint="make room for it, and build once more",
            ) from error


def _write_file(file: File, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(file.content)
    if file.is_executable:
        place.chmod(place.stat().st_mode | 0o111)


def pack_sdk(sdk: Sdk) -> PackedSdk:
    """Return an SDK with all its files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(sdk.tree, arcname=".")
    return PackedSdk(record=sdk_format.dumps(sdk.record), archive=buffer.getvalue())


def install_sdk(packed: PackedSdk, store: Store) -> None:
    """Put an SDK into a store, if its files are what its record says.

    Raises:
        SdkError: they are not, or the store cannot be written.
    """
    record = sdk_format.parse(packed.record, where="the SDK that was sent")
    with store.scratch() as scratch:
        tree = scratch / "tree"
        try:
            with tarfile.open(fileobj=io.BytesIO(packed.archive)) as archive:
                archive.extractall(tree, filter="data")
        except tarfile.TarError as error:
            raise _damaged(record) from error
        if nar_sha256(tree) != record.nar_sha256:
            raise _damaged(record)
        store.install(record, tree)


def _damaged(record: SdkRecord) -> SdkError:
    return SdkError(f"the SDK {record.name} arrived damaged", hint="build once more")


def _read(root: Path, path: str) -> File:
    place = root / path
    return File(path, place.read_bytes(), bool(place.stat().st_mode & _EXECUTABLE))
