"""Find a kernel in a bundle: one that ``KERNELS_BUNDLE`` names, or that was installed as a wheel.

A folder is never looked into because somebody happens to work in it: only what the variable names,
and only the ``kernelmill_bundles`` of folders that pip installs into.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import site
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from kernelmill.runtime.errors import BundleError
from kernelmill.runtime.files import TooLarge, read_text
from kernelmill.spec.errors import DigestMismatch, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelmill.runtime.bundles_format import Bundle, BundledKernel
    from kernelmill.spec.names import RepoId

log = logging.getLogger(__name__)

FILE_NAME: Final = "kernels-bundle.json"
"""What every bundle has at its root; see ``bundles_format``."""
VARIABLE: Final = "KERNELS_BUNDLE"
PACKAGE: Final = "kernelmill_bundles"
"""The folder of installed bundles, beside the other packages; one folder in it per bundle."""

MAX_LIST_BYTES: Final = 64 * 1024 * 1024
"""Room for some hundred thousand files."""

_Stamp = tuple[int, int, int]
"""Tells whether a file is still the one that was read: inode, time, size."""

_opened: dict[str, tuple[_Stamp, Bundle]] = {}
_checked: dict[str, _Stamp] = {}


def find_bundled(
    repo: RepoId,
    *,
    version: int | None = None,
    revision: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Path | None:
    """Return the folder of a kernel's builds in a bundle; None when no bundle has it.

    Without a version or a revision the newest is meant. The first bundle that has it is taken:
    those of ``KERNELS_BUNDLE`` in its order, then the installed ones by name.

    Args:
        repo: the kernel.
        version: the version that is asked for.
        revision: the branch, tag or commit that is asked for.
        environ: the environment; that of the process by default.

    Raises:
        InputError: ``KERNELS_BUNDLE`` names something that is no bundle.
        BundleError: a bundle's list cannot be read.
        DigestMismatch: what a build says of itself is not what was put into the bundle.
    """
    for root in _bundle_folders(os.environ if environ is None else environ):
        bundle, stamp = _open(root)
        kernel = bundle.find(repo, version=version, revision=revision)
        if kernel is not None:
            folder = os.path.join(root, kernel.folder)  # noqa: PTH118 - asked at every load
            if _checked.get(folder) != stamp:
                check_builds(Path(root), bundle, kernel)
                _checked[folder] = stamp
            log.debug("%s is in the bundle %s", repo, root)
            return Path(folder)
    return None


def parse_bundle_paths(value: str) -> tuple[Path, ...]:
    """Read ``path:path``, the format of ``KERNELS_BUNDLE``. An empty part names nothing.

    Raises:
        InputError: one is not the folder of a bundle.
    """
    paths = tuple(Path(os.path.expanduser(it)) for it in value.split(os.pathsep) if it)  # noqa: PTH111 - leaves a ~ alone where there is no home
    for path in paths:
        if not os.path.isfile(path / FILE_NAME):  # noqa: PTH113 - false for a name too long
            raise _no_bundle(path)
    return paths


def _no_bundle(path: Path) -> InputError:
    from kernelmill.runtime.export_folder import left_behind  # noqa: PLC0415 - for an error alone

    left = None
    with suppress(OSError):  # a name too long, or a folder that nobody may read
        left = left_behind(path)
    hint = (
        f"an export was interrupted: run it again, or rename '{left}' to '{path.name}'"
        if left
        else "make one: kernels export DIR --dir PATH; a wheel has to be installed"
    )
    return InputError(
        f"there is no bundle in '{path}': it holds no {FILE_NAME}", where=VARIABLE, hint=hint
    )


def _bundle_folders(environ: Mapping[str, str]) -> Iterator[str]:
    if value := environ.get(VARIABLE):
        yield from map(str, parse_bundle_paths(value))
    for folder in _package_folders():
        parent = os.path.join(folder, PACKAGE)  # noqa: PTH118 - 20 us cheaper than a Path
        try:
            names = sorted(os.listdir(parent))  # noqa: PTH208 - as above
        except OSError:
            continue
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - as above
            if os.path.isfile(os.path.join(path, FILE_NAME)):  # noqa: PTH113, PTH118 - as above
                yield path


def _package_folders() -> Iterator[str]:
    """Yield the folders that pip installs into, as far as this process imports from them."""
    known = set(site.getsitepackages())
    if site.ENABLE_USER_SITE:
        known.add(site.getusersitepackages())
    return (folder for folder in dict.fromkeys(sys.path) if folder in known)


def _open(root: str) -> tuple[Bundle, _Stamp]:
    """Return a bundle's list, read once while it stays the same."""
    path = os.path.join(root, FILE_NAME)  # noqa: PTH118 - as above
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
        stamp = found.st_ino, found.st_mtime_ns, found.st_size
        known = _opened.get(path)
        if known is None or known[0] != stamp:
            from kernelmill.runtime.bundles_format import parse  # noqa: PLC0415 - rarely needed

            content = read_text(Path(path), limit_bytes=MAX_LIST_BYTES)
            known = _opened[path] = stamp, parse(content, where=path)
    except (OSError, UnicodeDecodeError, TooLarge) as error:
        raise BundleError(
            f"cannot be read: {error}", where=path, hint="make or install the bundle again"
        ) from error
    return known[1], stamp


def check_builds(root: Path, bundle: Bundle, kernel: BundledKernel) -> None:
    """Stop here unless a kernel's builds are those that were put into the bundle.

    Looks at their names and their metadata; the files of a build are compared with its metadata
    when it is loaded. Those of builds older than digests are hashed here.

    Raises:
        DigestMismatch: something was changed, removed or added.
    """
    folder = root / kernel.folder
    listed: dict[str, dict[str, str]] = {}
    for path, sha256 in bundle.files.items():
        if path.startswith(f"{kernel.folder}/"):
            variant, _, name = path[len(kernel.folder) + 1 :].partition("/")
            listed.setdefault(variant, {})[name] = sha256
    there = {it.name for it in folder.iterdir()} if folder.is_dir() else set()
    for variant in sorted(there ^ set(listed)):
        _refuse(f"{'Unknown' if variant in there else 'Missing'} build: {variant}", folder)
    for variant, files in sorted(listed.items()):
        _check_build(folder / variant, files)


def _check_build(folder: Path, files: Mapping[str, str]) -> None:
    metadata = "metadata.json"
    content = _check_file(folder, metadata, files.get(metadata, ""))
    if _has_digest(content):
        return
    for name, sha256 in files.items():
        _check_file(folder, name, sha256)
    actual = {it.relative_to(folder).as_posix() for it in folder.rglob("*") if it.is_file()}
    for name in sorted(actual - set(files)):
        if "__pycache__" not in name.split("/"):
            _refuse(f"Unknown file: {name}", folder)


def _has_digest(metadata: bytes) -> bool:
    try:
        document = json.loads(metadata)
    except (ValueError, RecursionError):  # loading says so
        return False
    return isinstance(document, dict) and bool(document.get("digest"))


def _check_file(folder: Path, name: str, sha256: str) -> bytes:
    try:
        if not (folder / name).is_file():  # reading a pipe would wait for its other end
            _refuse(f"Missing file: {name}", folder)
        content = (folder / name).read_bytes()
    except OSError:
        _refuse(f"Missing file: {name}", folder)
    got = hashlib.sha256(content).hexdigest()
    if got != sha256:
        _refuse(f"File hash mismatch for {name}: expected: {sha256}, got: {got}", folder)
    return content


def _refuse(finding: str, folder: Path) -> NoReturn:
    raise DigestMismatch(
        f"the bundle does not hold what was put into it: {finding}",
        where=str(folder),
        hint="make or install the bundle again",
    )
