"""A kernel repository on disk: its manifest, and every file that a build of it reads."""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, assert_never

from kernelmill.builder.errors import SourceError
from kernelmill.spec import manifest as manifest_format
from kernelmill.spec.editions.history import NEWEST
from kernelmill.spec.errors import ManifestError
from kernelmill.spec.licenses import recognise_license
from kernelmill.spec.manifest import LicenseHint, Torch, TorchNoarch, TvmFfi
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelmill.spec.backend import Backend
    from kernelmill.spec.manifest import Kernel, Manifest, Reading
    from kernelmill.spec.reader import Faults
    from kernelmill.spec.toml_lines import KeyPath

log = logging.getLogger(__name__)

MANIFEST_NAME = "build.toml"
HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp"})
PYTHON_SUFFIXES = ("py", "pyi")
GENERATED = frozenset({"torch-ext/registration.h"})
"""Written by ``create-pyproject`` between the sources; the same for every kernel."""
OPS_MODULE = "_ops.py"
"""Made for each build, beside the kernel's own Python files; one that lies there is no source."""
LICENSE_NAMES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING")
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
    edition: int = NEWEST
    """The edition that the file is written in."""

    @property
    def package(self) -> str:
        """The folder of the kernel's Python files: ``torch-ext/my_kernel``."""
        return package_folder(self.manifest)

    @property
    def is_python_only(self) -> bool:
        """Whether nothing of the kernel is compiled."""
        return isinstance(self.manifest.framework, TorchNoarch)

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
    reading, text = _read(root)
    return reading.manifest, text


def _read(root: Path) -> tuple[Reading, str]:
    text = read_manifest_text(root)
    reading = manifest_format.read(text, where=MANIFEST_NAME, license_hint=find_license(root))
    _warn_of_age(reading, str(root))
    return reading, text


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
    for name in LICENSE_NAMES:
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
    reading, text = _read(root)
    manifest = reading.manifest
    places = manifest_places(text)
    for key_path, path, is_folder in _entries(manifest):
        if problem := _problem(root, path, is_folder=is_folder):
            places.add(key_path, problem, "correct the path, or add what it names")
    if places.found:
        raise ManifestError(f"{len(places.found)} wrong paths", faults=tuple(places.found))
    package = package_folder(manifest)
    if not (root / package / "__init__.py").is_file():
        raise SourceError(
            f"no {package}/__init__.py: the kernel has no Python module",
            where=str(root),
            hint=f"write {package}/__init__.py with `from ._ops import ops`",
        )
    paths = set(_source_paths(root, manifest)) | set(_package_paths(root, package, manifest))
    ensure_regular(root, sorted(paths))
    hashes = {path: _sha256(root / path) for path in sorted(paths)}
    return KernelTree(
        root=root, manifest=manifest, manifest_text=text, files=hashes, edition=reading.edition
    )


def package_folder(manifest: Manifest) -> str:
    """Return the folder of the kernel's Python files, relative to ``build.toml``'s."""
    is_tvm_ffi = isinstance(manifest.framework, TvmFfi)
    return f"{'tvm-ffi-ext' if is_tvm_ffi else 'torch-ext'}/{manifest.general.name.python_name}"


def framework_key(manifest: Manifest) -> str:
    """Return the name of the manifest's framework table."""
    match manifest.framework:
        case Torch():
            return "torch"
        case TorchNoarch():
            return "torch-noarch"
        case TvmFfi():
            return "tvm-ffi"
        case _:
            assert_never(manifest.framework)


def compiled_table(manifest: Manifest) -> Torch | TvmFfi:
    """Return ``[torch]`` or ``[tvm-ffi]``; raise ``SourceError`` for kernels without a binding."""
    if isinstance(manifest.framework, Torch | TvmFfi):
        return manifest.framework
    raise SourceError(
        f"{manifest.general.name} is Python only: there is nothing to compile",
        where=MANIFEST_NAME,
        hint="`kernel-builder build` makes its variants without a compiler",
    )


def torch_table(manifest: Manifest) -> Torch:
    """Return the ``[torch]`` table; raise ``SourceError`` for kernels of another framework."""
    if isinstance(manifest.framework, Torch):
        return manifest.framework
    raise SourceError(
        f"{manifest.general.name} has no [torch] table",
        where=MANIFEST_NAME,
        hint="only kernels with a [torch] table are compiled against PyTorch",
    )


def files_of(tree: KernelTree, backend: Backend) -> dict[str, str]:
    """Return the part of ``tree.files`` that a build for ``backend`` reads."""
    mine = {path for kernel in tree.manifest.kernels_for(backend) for path in kernel.src}
    others = {path for kernel in tree.manifest.kernels for path in kernel.src} - mine
    shared = {path for _, table in _source_tables(tree.manifest)[:1] for path in table.src}
    return {path: sha for path, sha in tree.files.items() if path not in others or path in shared}


def built_from(tree: KernelTree, backend: Backend) -> tuple[str, ...]:
    """Return every path of the repository that decides a build for ``backend``."""
    return (MANIFEST_NAME, *files_of(tree, backend))


def manifest_places(text: str) -> Faults:
    """Return an empty list of mistakes that knows the lines of the manifest's keys."""
    return manifest_format.places(text, where=MANIFEST_NAME)


def _source_tables(manifest: Manifest) -> list[tuple[KeyPath, Torch | TvmFfi | Kernel]]:
    """Return every table that names sources with its key path, the binding's first."""
    if isinstance(manifest.framework, TorchNoarch):
        return []  # Python only: nothing of it is compiled
    first: tuple[KeyPath, Torch | TvmFfi] = ((framework_key(manifest),), manifest.framework)
    return [first, *((("kernel", kernel.name), kernel) for kernel in manifest.kernels)]


def _entries(manifest: Manifest) -> Iterator[tuple[KeyPath, str, bool]]:
    """Yield (key path, path, is a folder) for every path in the manifest."""
    for key_path, table in _source_tables(manifest):
        for index, path in enumerate(table.src):
            yield (*key_path, "src", index), path, False
        for index, path in enumerate(table.include):
            yield (*key_path, "include", index), path, True


def include_folders(manifest: Manifest) -> tuple[str, ...]:
    """Return the include folders of all tables, relative to the kernel's, each once."""
    tables = [table for _, table in _source_tables(manifest)]
    return tuple(dict.fromkeys(folder for table in tables for folder in table.include))


def _problem(root: Path, path: str, *, is_folder: bool) -> str:
    if is_folder:
        return "" if (root / path).is_dir() else f"no such folder {path!r}"
    return "" if (root / path).is_file() else f"no such file {path!r}"


def ensure_regular(root: Path, paths: Iterable[str]) -> None:
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


def _source_paths(root: Path, manifest: Manifest) -> Iterator[str]:
    for _, table in _source_tables(manifest):
        yield from table.src
        for folder in table.include:
            yield from _files_below(root, folder, HEADER_SUFFIXES)


def _package_paths(root: Path, package: str, manifest: Manifest) -> Iterator[str]:
    suffixes = {f".{suffix}" for suffix in shipped_suffixes(manifest)}
    made = f"{package}/{OPS_MODULE}"
    return (path for path in _files_below(root, package, suffixes) if path != made)


def shipped_suffixes(manifest: Manifest) -> tuple[str, ...]:
    """Return the endings of the files that are shipped beside the module, without the dot."""
    return tuple(dict.fromkeys((*PYTHON_SUFFIXES, *manifest.framework.pyext)))


def _files_below(root: Path, folder: str, suffixes: Iterable[str]) -> Iterator[str]:
    for place, folders, names in os.walk(root / folder):
        folders[:] = [f for f in folders if f not in _NOT_SOURCES and not f.startswith(".")]
        for name in names:
            path = (Path(place) / name).relative_to(root).as_posix()
            if PurePosixPath(path).suffix in suffixes and path not in GENERATED:
                yield path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
