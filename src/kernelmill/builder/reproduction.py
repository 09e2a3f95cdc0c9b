"""Build a released variant again from what it records, and compare it byte for byte."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.comparison import Difference, compare_builds
from kernelmill.builder.errors import ReproductionError
from kernelmill.builder.inside.order import Order
from kernelmill.builder.inside.statement import file_hashes
from kernelmill.builder.locking.expected import EXPECTED_NAME, compare, covered
from kernelmill.builder.locking.files import read_expected, read_lock
from kernelmill.builder.locking.format import LOCK_NAME
from kernelmill.builder.package import read_metadata
from kernelmill.builder.release import build_release
from kernelmill.builder.sources import MANIFEST_NAME, read_tree
from kernelmill.builder.toolchain.git import export_commit, probe_source_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kernelmill.builder.locking.trees import LockedStore
    from kernelmill.builder.sandbox.choice import Sandbox
    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.builder.sources import KernelTree
    from kernelmill.spec.metadata import BuildRecord, Metadata, SourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What came of building a variant again."""

    variant: str
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    """What was done that the record does not say."""
    sha256: Mapping[str, str]
    """Path -> hash of the new files."""

    @property
    def is_same(self) -> bool:
        """Whether each file is the same, but for what names another version of the builder."""
        return all(it.is_builder_only for it in self.differences)


def reproduce(
    folder: Path,
    root: Path,
    store: LockedStore,
    find_sandbox: Callable[[SdkRecord], Sandbox],
    *,
    on_line: Callable[[str], None],
) -> Reproduction:
    """Build the variant in ``folder`` again.

    Args:
        folder: the variant, with its metadata.
        root: the kernel's sources: its repository, or a copy.
        store: the SDKs.
        find_sandbox: returns the sandbox for a root folder.
        on_line: called with each line that tools print.

    Raises:
        ReproductionError: it is no release build, or its sources or its lock are not here.
        KernelError: it cannot be built here.
    """
    metadata = read_metadata(folder)
    record = _require_release(metadata, folder)
    source = metadata.provenance.kernel if metadata.provenance else None
    with _sources(root, source) as (place, notes):
        tree = read_tree(place)
        order = _order(folder.name, record, source, place)
        trees = {it.name: store.tree_of(it) for it in order.sdks}
        (base,) = (it for it in order.sdks if it.kind == "cxx")
        with tempfile.TemporaryDirectory(prefix="kernelmill-") as output:
            built = build_release(
                tree, order, trees, find_sandbox(base), output=Path(output), on_line=on_line
            )
            return Reproduction(
                variant=folder.name,
                differences=compare_builds(read_files(folder), read_files(built.folder)),
                notes=(*notes, *_notes(record, tree)),
                sha256=file_hashes(built.folder),
            )


def reproduce_expected(
    root: Path,
    store: LockedStore,
    find_sandbox: Callable[[SdkRecord], Sandbox],
    *,
    variants: Sequence[str] = (),
    on_line: Callable[[str], None],
) -> Iterator[Reproduction]:
    """Build every variant whose hashes are recorded beside the lock, and compare with these.

    Args:
        root: the kernel.
        store: the SDKs.
        find_sandbox: returns the sandbox for a root folder.
        variants: those to build; by default all.
        on_line: called with each line that tools print.

    Raises:
        ReproductionError: nothing is recorded, or nothing for one of ``variants``.
        KernelError: one cannot be built here.
    """
    expected, (lock, sha256), tree = read_expected(root), read_lock(root), read_tree(root)
    unknown = sorted({*variants} - {*expected}) or ([] if expected else [EXPECTED_NAME])
    if unknown:
        raise ReproductionError(
            f"no hashes are recorded for {', '.join(unknown)}",
            where=str(root),
            hint="kernel-builder build --release --record-hashes",
        )
    for variant in variants or expected:
        order = Order(variant=variant, sdks=lock.sdks_of(variant), lock_sha256=sha256)
        trees = {it.name: store.tree_of(it) for it in order.sdks}
        (base,) = (it for it in order.sdks if it.kind == "cxx")
        with tempfile.TemporaryDirectory(prefix="kernelmill-") as output:
            built = build_release(
                tree, order, trees, find_sandbox(base), output=Path(output), on_line=on_line
            )
            hashes = file_hashes(built.folder)
        words = compare(expected[variant], covered(hashes))
        found = (Difference(path=EXPECTED_NAME, words=words),) if words else ()
        yield Reproduction(variant=variant, differences=found, notes=(), sha256=hashes)


def read_files(folder: Path) -> dict[str, bytes]:
    """Return path -> content of every file of a variant; bytecode is none of its files."""
    return {
        it.relative_to(folder).as_posix(): it.read_bytes()
        for it in sorted(folder.rglob("*"))
        if it.is_file() and "__pycache__" not in it.parts
    }


def _require_release(metadata: Metadata, folder: Path) -> BuildRecord:
    record = metadata.build
    if record is None or record.mode != "release":
        what = "a develop build" if record else "not a build of kernelmill"
        raise ReproductionError(
            f"it is {what}: nothing says what it was made of",
            where=str(folder),
            hint="reproduce what `kernel-builder build --release` has made",
        )
    if record.isolation != "sandbox":
        raise ReproductionError(
            "it was built without a sandbox: its compiler was that of the machine",
            where=str(folder),
            hint="build it again with `kernel-builder build --release` where a sandbox is possible",
        )
    return record


@contextmanager
def _sources(root: Path, source: SourceState | None) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Give the folder of the recorded sources, and what there is to say about it."""
    if source is None or source.commit is None:
        yield root, ("it was built outside git: taking the sources as they are here",)
        return
    if source.is_dirty:
        told = f"it was built of changed sources of commit {source.commit[:12]}"
        yield root, (f"{told}: taking the sources as they are here",)
        return
    here = probe_source_state(root, (MANIFEST_NAME, LOCK_NAME))
    if here and here.commit == source.commit and not here.is_dirty:
        yield root, ()
        return
    with tempfile.TemporaryDirectory(prefix="kernelmill-") as name:
        if not export_commit(root, source.commit, Path(name)):
            raise ReproductionError(
                f"commit {source.commit} is not in this repository",
                where=str(root),
                hint="fetch it, or name a clone that has it with --source DIR",
            )
        yield Path(name), (f"taking the sources of commit {source.commit[:12]}",)


def _order(variant: str, record: BuildRecord, source: SourceState | None, root: Path) -> Order:
    lock, sha256 = read_lock(root)
    recorded = record.inputs.get(LOCK_NAME, "")
    sdks = lock.sdks_of(variant)
    strange = [it.name for it in sdks if record.inputs.get(it.name) != it.nar_sha256]
    if sha256 != recorded and strange:
        raise ReproductionError(
            f"{LOCK_NAME} is not the one that it was built with ({recorded[:12]}): "
            f"{', '.join(strange)} differ",
            where=str(root),
            hint="name the sources that it was built from with --source DIR",
        )
    known = source if source and source.commit else None
    return Order(variant=variant, sdks=sdks, lock_sha256=recorded, source=known)


def _notes(record: BuildRecord, tree: KernelTree) -> Iterator[str]:
    if record.inputs.get(MANIFEST_NAME) != tree.manifest_sha256:
        yield f"{MANIFEST_NAME} is not the one that it was built with"
