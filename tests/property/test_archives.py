"""Trees survive Nix's archive format, and no change of an archive goes unnoticed."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelmill.builder.cache.unpacking import unpack_nar
from kernelmill.builder.errors import EntryRefused
from kernelmill.builder.sdk.nar import nar_sha256, write_nar

NAMES = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1,
                max_size=20).filter(lambda it: it not in {".", ".."})  # fmt: skip
FILES = st.tuples(st.binary(max_size=100), st.booleans())
LINKS = st.sampled_from(["..", "/etc/passwd", "a/b", "nowhere"])
NODES: st.SearchStrategy[Any] = st.recursive(
    FILES | LINKS, lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


def make(node: object, place: Path) -> None:
    if isinstance(node, str):
        place.symlink_to(node)
    elif isinstance(node, dict):
        place.mkdir()
        for name, inner in node.items():
            make(inner, place / name)
    elif isinstance(node, tuple):
        place.write_bytes(node[0])
        place.chmod(0o755 if node[1] else 0o644)


@settings(max_examples=60, deadline=None)
@given(NODES, st.integers(1, 300))
def test_tree_survives(node: object, size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made, got = Path(folder, "made"), Path(folder, "got")
        make(node, made)
        archive = bytearray()
        write_nar(made, archive.extend)
        pieces = (bytes(archive[at : at + size]) for at in range(0, len(archive), size))
        unpack_nar(pieces, got, where="")
        assert nar_sha256(got) == nar_sha256(made) == hashlib.sha256(archive).hexdigest()


@settings(max_examples=150, deadline=None)
@given(NODES, st.data())
def test_changed_archive_is_refused_or_is_another_tree(node: object, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made, got = Path(folder, "made"), Path(folder, "inside/got")
        make(node, made)
        got.parent.mkdir()
        archive = bytearray()
        write_nar(made, archive.extend)
        at = data.draw(st.integers(0, len(archive) - 1))
        archive[at] ^= data.draw(st.integers(1, 255))
        try:
            unpack_nar(iter([bytes(archive)]), got, where="")
        except (EntryRefused, OSError):  # the latter of a name that is too long
            pass
        else:
            assert nar_sha256(got) != nar_sha256(made)
        assert sorted(it.name for it in Path(folder).iterdir()) == ["inside", "made"]
        assert {it.name for it in got.parent.iterdir()} <= {"got"}


def test_many_entries_do_not_nest(tmp_path: Path) -> None:
    deep: object = {}
    for _ in range(120):
        deep = {"a": deep}
    make(deep, tmp_path / "deep")
    archive = bytearray()
    write_nar(tmp_path / "deep", archive.extend)
    with pytest.raises(EntryRefused, match="at depth 100"):
        unpack_nar(iter([bytes(archive)]), tmp_path / "got", where="")
