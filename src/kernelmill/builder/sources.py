"""A kernel repository on disk: its manifest, and every file that a build of it reads."""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kernelmill.builder.errors import SourceError
from kernelmill.spec import manifest as manifest_format
from kernelmill.spec.errors import ManifestError
from kernelmill.spec.licenses import recognise_license
from kernelmill.spec.manifest import LicenseHint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelmill.spec.backend import Backend
    from kernelmill.spec.manifest import Kernel, Manifest, Reading, Torch
    from kernelmill.spec.reader import Faults
    from kernelmill.spec.toml_lines import KeyPath

log = logging.getLogger(__name__)

MANIFEST_NAME = "build.toml"
HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp"})
PYTHON_SUFFIXES = ("py", "pyi")
GENERATED = frozenset({"torch-ext/registration.h"})
"""Written by ``create-pyproject`` between the sources; the same for every kernel."""
_LICENSE_NAMES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING")
_WARNED: set[str] = set()
_NOT_SOURCES = frozenset({"build", "result", "dist", "__pycache__", "CMakeFiles"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTree:
    """A kernel repository: ``files`` are those that its manifest names, and their contents."""

    root: Path
    manifest: Manifest
    manifest_text: str
    files: Mapping[str, str]
    """Path, relative to ``root`` and with ``/``, -> sha256."""

    @property
    def manifest_sha256(self) -> str:
        """The hash of ``build.toml``."""
        return hashlib.sha256(self.manifest_text.encode()).hexdigest()

    def where(self, *key_path: str | int) -> str:
        """Return a place in the manifest: ``build.toml:14 kernel.gemm.src[0]``."""
        return manifest_places(self.manifest_text).where(key_path)


def read_manifest(root: Path) -> tuple[Manifest, str]:
    """Return the manifest of the repository at ``root``, and its text.

    An older edition is read as the newest; a warning, once, says as which and what was assumed.

    Raises:
        SourceError: there is no ``build.toml``; names the absolute path.
        ManifestError: it has mistakes; lists all of them.
    """
    text = read_manifest_text(root)
    reading = manifest_format.read(text, where=MANIFEST_NAME, license_hint=find_license(root))
    _warn_of_age(reading, str(root))
    return reading.manifest, text


def read_manifest_text(root: Path) -> str:
    """Return the text of ``build.toml`` with its line ends as they are.

    Raises:
        SourceError: there is none, or it is no text; names the absolute path.
    """
    path = root / MANIFEST_NAME
    try:
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise SourceError(
            f"no {MANIFEST_NAME} here",
            where=str(root.absolute()),
            hint="pass the kernel's folder, or start one with `kernel-builder init`",
        ) from None
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{MANIFEST_NAME} is not UTF-8", where=str(path), hint="save it as UTF-8 text"
        ) from error
    except OSError as error:
        raise SourceError(
            f"{MANIFEST_NAME} cannot be read: {error.strerror}", where=str(path)
        ) from error


def find_license(root: Path) -> LicenseHint | None:
    """Return the license that a file in ``root`` holds the text of, where it is a known one."""
    for name in _LICENSE_NAMES:
        path = root / name
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            if expression := recognise_license(text):
                return LicenseHint(expression=expression, source=name)
    return None


def _warn_of_age(reading: Reading, root: str) -> None:
    """Say once per kernel and process that its manifest is old, and what was made of it."""
    if reading.edits and root not in _WARNED:
        _WARNED.add(root)
        assumed = f"; assumed: {', '.join(reading.assumed)}" if reading.assumed else ""
        log.warning(
            "%s is read as edition %s%s; `kernel-builder update-build` writes edition %s",
            MANIFEST_NAME,
            reading.edition,
            assumed,
            reading.manifest.edition,
        )


def read_tree(root: Path) -> KernelTree:
    """Read the manifest and hash every file that it names, for all backends.

    Raises:
        ManifestError: files are missing. Lists all of them.
        SourceError: the kernel has no Python module.
    """
    manifest, text = read_manifest(root)
    torch = torch_table(manifest)
    places = manifest_places(text)
    for key_path, path, is_folder in _entries(manifest, torch):
        if problem := _problem(root, path, is_folder=is_folder):
            places.add(key_path, problem, "correct the path, or add what it names")
    if places.found:
        raise ManifestError(f"{len(places.found)} wrong paths", faults=tuple(places.found))
    package = f"torch-ext/{manifest.general.name.python_name}"
    if not (root / package / "__init__.py").is_file():
        raise SourceError(
            f"no {package}/__init__.py: the kernel has no Python module",
            where=str(root),
            hint=f"write {package}/__init__.py with `from ._ops import ops`",
        )
    paths = set(_source_paths(root, manifest, torch)) | set(_package_paths(root, package, torch))
    _ensure_regular(root, sorted(paths))
    hashes = {path: _sha256(root / path) for path in sorted(paths)}
    return KernelTree(root=root, manifest=manifest, manifest_text=text, files=hashes)


def torch_table(manifest: Manifest) -> Torch:
    """Return the ``[torch]`` table; raise ``SourceError`` for kernels of another framework."""
    if isinstance(manifest.framework, manifest_format.Torch):
        return manifest.framework
    raise SourceError(
        f"{manifest.general.name} has no [torch] table",
        where=MANIFEST_NAME,
        hint="this version builds kernels with a [torch] table",
    )


def files_of(tree: KernelTree, backend: Backend) -> dict[str, str]:
    """Return the part of ``tree.files`` that a build for ``backend`` reads."""
    mine = {path for kernel in tree.manifest.kernels_for(backend) for path in kernel.src}
    others = {path for kernel in tree.manifest.kernels for path in kernel.src} - mine
    shared = set(torch_table(tree.manifest).src)
    return {path: sha for path, sha in tree.files.items() if path not in others or path in shared}


def manifest_places(text: str) -> Faults:
    """Return an empty list of mistakes that knows the lines of the manifest's keys."""
    return manifest_format.places(text, where=MANIFEST_NAME)


def _entries(manifest: Manifest, torch: Torch) -> Iterator[tuple[KeyPath, str, bool]]:
    """Yield (key path, path, is a folder) for every path in the manifest."""
    tables: list[tuple[KeyPath, Torch | Kernel]] = [(("torch",), torch)]
    tables += [(("kernel", kernel.name), kernel) for kernel in manifest.kernels]
    for key_path, table in tables:
        for index, path in enumerate(table.src):
            yield (*key_path, "src", index), path, False
        for index, path in enumerate(table.include):
            yield (*key_path, "include", index), path, True


def _problem(root: Path, path: str, *, is_folder: bool) -> str:
    if is_folder:
        return "" if (root / path).is_dir() else f"no such folder {path!r}"
    return "" if (root / path).is_file() else f"no such file {path!r}"


def _ensure_regular(root: Path, paths: Iterable[str]) -> None:
    """Stop here unless each path is a file of this repository: others have no such file."""
    resolved_root = root.resolve()
    for path in paths:
        if not (root / path).is_file():
            problem, hint = "is no file, or a link to none", "remove it"
        elif not (root / path).resolve().is_relative_to(resolved_root):
            problem, hint = "is a link out of the repository", "copy the file into it"
        else:
            continue
        raise SourceError(f"{path!r} {problem}", where=str(root), hint=hint)


def _source_paths(root: Path, manifest: Manifest, torch: Torch) -> Iterator[str]:
    tables: list[Torch | Kernel] = [torch, *manifest.kernels]
    for table in tables:
        yield from table.src
        for folder in table.include:
            yield from _files_below(root, folder, HEADER_SUFFIXES)


def _package_paths(root: Path, package: str, torch: Torch) -> Iterator[str]:
    return _files_below(
        root, package, {f".{suffix}" for suffix in (*PYTHON_SUFFIXES, *torch.pyext)}
    )


def _files_below(root: Path, folder: str, suffixes: Iterable[str]) -> Iterator[str]:
    for place, folders, names in os.walk(root / folder):
        folders[:] = [f for f in folders if f not in _NOT_SOURCES and not f.startswith(".")]
        for name in names:
            path = (Path(place) / name).relative_to(root).as_posix()
            if PurePosixPath(path).suffix in suffixes and path not in GENERATED:
                yield path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
