"""Archives that come from elsewhere: what is whole is unpacked, and all else refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.cache.unpacking import unpack_nar
from kernelmill.builder.errors import EntryRefused
from kernelmill.builder.sdk.nar import nar_sha256, write_nar

if TYPE_CHECKING:
    from pathlib import Path


def words(*texts: bytes) -> bytes:
    return b"".join(len(it).to_bytes(8, "little") + it + bytes(-len(it) % 8) for it in texts)


def folder(*entries: bytes) -> bytes:
    inside = b"".join(words(b"entry") + it for it in entries)
    return words(b"nix-archive-1", b"(", b"type", b"directory") + inside + words(b")")


def entry(name: bytes, node: bytes | None = None) -> bytes:
    content = words(b"(", b"type", b"regular", b"contents", b"x", b")") if node is None else node
    return words(b"(", b"name", name, b"node") + content + words(b")")


def unpack(archive: bytes, target: Path, *, size: int = 7) -> None:
    pieces = (archive[at : at + size] for at in range(0, len(archive), size))
    unpack_nar(pieces, target, where="x.nar")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    (made / "a/b").mkdir(parents=True)
    (made / "a/tool").write_bytes(b"#!/bin/sh\n")
    (made / "a/tool").chmod(0o755)
    (made / "a/empty").write_bytes(b"")
    (made / "a.b").write_bytes(bytes(range(256)) * 99)
    (made / "ä").symlink_to("a/../nowhere")
    return made


@pytest.mark.parametrize("size", [1, 8, 100_000])
def test_what_was_packed_is_unpacked(tree: Path, tmp_path: Path, size: int) -> None:
    archive = bytearray()
    write_nar(tree, archive.extend)
    unpack(bytes(archive), tmp_path / "copy", size=size)
    assert nar_sha256(tmp_path / "copy") == nar_sha256(tree)
    assert (tmp_path / "copy/a/tool").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "copy/a/empty").stat().st_mode & 0o777 == 0o644


def test_every_cut_is_noticed(tree: Path, tmp_path: Path) -> None:
    archive = bytearray()
    write_nar(tree / "a", archive.extend)
    for number, length in enumerate(range(0, len(archive), 8)):
        with pytest.raises(EntryRefused, match="damaged archive: it ends too early"):
            unpack(bytes(archive[:length]), tmp_path / f"cut-{number}", size=1000)


@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"/etc/x", b"a\0b"])
def test_name_that_leads_elsewhere_is_refused(name: bytes, tmp_path: Path) -> None:
    with pytest.raises(EntryRefused, match="damaged archive: the name"):
        unpack(folder(entry(name)), tmp_path / "target")


@pytest.mark.parametrize("names", [(b"a", b"a"), (b"b", b"a")])
def test_names_only_rise(names: tuple[bytes, bytes], tmp_path: Path) -> None:
    with pytest.raises(EntryRefused, match="damaged archive: the name b'a' after"):
        unpack(folder(*map(entry, names)), tmp_path / "target")


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    link = words(b"(", b"type", b"symlink", b"target", b"../outside", b")")
    inside = folder(entry(b"file")).removeprefix(words(b"nix-archive-1"))
    with pytest.raises(EntryRefused, match="the name b'a' after b'a'"):
        unpack(folder(entry(b"a", link), entry(b"a", inside)), tmp_path / "target")
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        pytest.param(b"not an archive at all...", "a word has", id="no-archive"),
        pytest.param(words(b"nix-archive-2"), "'nix-archive-1' should", id="version"),
        pytest.param(folder() + b"x", "something follows its end", id="more"),
        pytest.param(
            words(b"nix-archive-1", b"(", b"type", b"device"), "b'device' at depth 0", id="device"
        ),
        pytest.param(
            words(b"nix-archive-1", b"(", b"type", b"symlink", b"target", b"", b")"),
            "a link leads to nothing",
            id="empty-link",
        ),
        pytest.param(
            words(b"nix-archive-1") + (3).to_bytes(8, "little") + b"abcdefgh",
            "bytes between words are not zero",
            id="filling",
        ),
        pytest.param(
            words(b"nix-archive-1", b"(", b"type", b"regular", b"evil"),
            "b'evil' in a file",
            id="file",
        ),
        pytest.param(
            words(b"nix-archive-1") + words(b"(", b"type", b"directory", b"entry", b"(", b"name",
                                            b"a", b"node") * 101,
            "b'directory' at depth 100",
            id="deep",
        ),
    ],
)  # fmt: skip
def test_odd_archive_is_refused(archive: bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(EntryRefused) as caught:
        unpack(archive, tmp_path / "target", size=64)
    assert problem in caught.value.problem
    assert caught.value.where == "x.nar"
