"""Entries of binary caches, and Nix's spelling of hashes and paths."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace

import pytest

from kernelmill.spec import narinfo
from kernelmill.spec.errors import CacheEntryError
from kernelmill.spec.narinfo import NarInfo, nar_url
from kernelmill.spec.nix_store import (
    check_store_path,
    fixed_path,
    keyed_path,
    parse_sha256,
    path_hash,
    path_name,
    spell_sha256,
    to_base32,
)

EMPTY = hashlib.sha256(b"").hexdigest()
SIGNATURE = f"key-1:{base64.b64encode(bytes(64)).decode()}"
INFO = NarInfo(
    store_path=keyed_path("key", "name-1.0+x"),
    url=nar_url(EMPTY, "zstd"),
    compression="zstd",
    file_sha256=EMPTY,
    file_bytes=7,
    nar_sha256="00" * 31 + "01",
    nar_bytes=96,
    references=(path_hash(keyed_path("other", "x")) + "-x",),
    signatures=(SIGNATURE,),
)


def test_hash_is_spelled_as_nix_spells_it() -> None:
    # As `nix hash to-base32 --type sha256` prints them.
    assert spell_sha256(EMPTY) == "sha256:0mdqa9w1p6cmli6976v4wi0sw9r4p5prkj7lzfd1877wk11c9c73"
    assert to_base32(b"") == ""


@pytest.mark.parametrize(
    "spelling",
    [
        spell_sha256(EMPTY),
        f"sha256:{EMPTY}",
        f"sha256-{base64.b64encode(bytes.fromhex(EMPTY)).decode()}",
    ],
)
def test_every_spelling_of_a_hash_is_read(spelling: str) -> None:
    assert parse_sha256(spelling, where="") == EMPTY


def test_hash_with_too_many_bits_is_refused() -> None:
    with pytest.raises(CacheEntryError, match="is larger than a SHA-256"):
        parse_sha256("sha256:" + "z" * 52, where="")


def test_path_of_a_tree_is_the_one_that_nix_gives_it() -> None:
    # From `nix store add-path --name foo-1.0+x` of a folder with this hash.
    digits = parse_sha256("sha256:16m0kalhcb1cwv7jpm05harbismynphs03304nhdar2cycfn6z3x", where="")
    path = "/nix/store/hh6jhriqvndnk6as34xkig6wdi235vli-foo-1.0+x"
    assert fixed_path(digits, "foo-1.0+x") == path
    assert (path_hash(path), path_name(path)) == ("hh6jhriqvndnk6as34xkig6wdi235vli", "foo-1.0+x")


def test_other_keys_and_names_have_other_paths() -> None:
    paths = {keyed_path("a", "x"), keyed_path("b", "x"), keyed_path("a", "y")}
    assert len({path_hash(it) for it in paths}) == 3


@pytest.mark.parametrize(
    "path",
    [
        "/nix/store/short-x",
        f"/nix/store/{'0' * 32}",
        f"/nix/store/{'0' * 32}-",
        f"/nix/store/{'0' * 32}-.x",
        f"/nix/store/{'0' * 32}-a/b",
        f"/nix/store/{'e' * 32}-a",
        f"/other/{'0' * 32}-a",
        f"/nix/store/{'0' * 32}-{'a' * 212}",
    ],
)
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(CacheEntryError, match="is not a path of /nix/store"):
        check_store_path(path, where="")


def test_entry_survives_a_round_trip() -> None:
    fixed = replace(INFO, content_address=f"fixed:r:{spell_sha256(EMPTY)}", deriver="x.drv")
    for info in (INFO, fixed, replace(INFO, references=(), signatures=())):
        assert narinfo.parse(narinfo.dumps(info), where="") == info


def test_fingerprint_leaves_out_where_the_archive_is() -> None:
    moved = replace(INFO, compression="xz", url=nar_url("11" * 32, "xz"), file_bytes=1)
    assert moved.fingerprint == INFO.fingerprint
    assert replace(INFO, nar_bytes=97).fingerprint != INFO.fingerprint
    assert replace(INFO, references=()).fingerprint != INFO.fingerprint


def test_fingerprint_is_that_of_nix() -> None:
    assert INFO.fingerprint.decode() == (
        f"1;{INFO.store_path};{spell_sha256(INFO.nar_sha256)};96;/nix/store/{INFO.references[0]}"
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("StorePath", "Path", "StorePath is missing"),
        ("NarSize: 96", "NarSize: -1", "NarSize '-1' is not a number"),
        ("NarSize: 96", "NarSize: 96\nNarSize: 97", "NarSize is there twice"),
        ("Compression: zstd", "Compression: br", "compression 'br' is not one of"),
        ("URL: nar/", "URL: ../nar/", "is not nar/<hash>.nar.zst"),
        (".nar.zst", ".nar.xz", "is not nar/<hash>.nar.zst"),
        ("Sig: key-1:", "Sig: ", "is not a signature"),
        ("References: ", "References: ../x ", "is not a path of /nix/store"),
        ("NarHash: sha256:", "NarHash: md5:", "is not a SHA-256 as Nix writes it"),
        ("StorePath: ", "nothing\nStorePath: ", "'nothing' is not a line of a narinfo"),
        ("Sig: ", "CA: x y\nSig: ", "is not a content address"),
        ("Sig: ", f"Note: {'x' * 70_000}\nSig: ", "larger than 65536 bytes"),
    ],
)
def test_bad_entry_is_refused(old: str, new: str, problem: str) -> None:
    content = narinfo.dumps(INFO)
    assert old in content
    with pytest.raises(CacheEntryError) as caught:
        narinfo.parse(content.replace(old, new, 1), where="x.narinfo")
    assert problem in caught.value.problem
    assert caught.value.where == "x.narinfo"


def test_unknown_keys_are_left_out() -> None:
    assert narinfo.parse(narinfo.dumps(INFO) + "System: x86_64-linux\n", where="") == INFO


def test_too_many_signatures_are_refused() -> None:
    many = replace(INFO, signatures=tuple(f"k{it}{SIGNATURE}" for it in range(17)))
    with pytest.raises(CacheEntryError, match="more than 16 signatures"):
        narinfo.parse(narinfo.dumps(many), where="")
