"""What goes into a room: the sources that the manifest names, and the builder itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import kernelmill
from kernelmill.builder.sources import LICENSE_NAMES, MANIFEST_NAME, include_folders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.builder.sources import KernelTree

PACKAGE_PARTS: Final = ("__init__.py", "spec", "binary", "builder")
"""Of kernelmill: what a build imports. Its hash is an input of the build."""


def copy_sources(tree: KernelTree, target: Path) -> None:
    """Copy what a build may read: the files that the manifest names, it, and the license."""
    licenses = [it for it in LICENSE_NAMES if (tree.root / it).is_file()]
    for path in (MANIFEST_NAME, *licenses, *tree.files):
        _copy(tree.root / path, target / path)
    for folder in include_folders(tree.manifest):
        (target / folder).mkdir(parents=True, exist_ok=True)


def copy_package(target: Path) -> None:
    """Copy the parts of kernelmill that a build imports into the folder ``target/kernelmill``."""
    source = Path(str(kernelmill.__file__)).parent
    for part in PACKAGE_PARTS:
        for path in _files(source / part):
            _copy(path, target / "kernelmill" / path.relative_to(source))


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for path in sorted(place.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _copy(source: Path, target: Path) -> None:
    """Copy the content, with a mode that everybody has."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o644)
