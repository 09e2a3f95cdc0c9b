from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk import fetch
from kernelmill.builder.sdk.debs import merge_usr, open_deb, unpack_deb
from kernelmill.builder.sdk.fetch import get_file
from kernelmill.builder.sdk.format import SdkInput, SdkRecord
from kernelmill.builder.sdk.mirror import mirror
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.recipes import Wanted, cxx
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILES = {"./bin/tool": b"#!", "./lib/x86_64-linux-gnu/libx.so.1": b"elf", "./usr/share/x": b"-"}


def write_deb(place: Path, files: Mapping[str, bytes], links: Mapping[str, str] = {}) -> Path:
    """Write a package whose modes and times are not the usual ones."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime, entry.uid = len(content), 0o4711, 1234, 77
            archive.addfile(entry, io.BytesIO(content))
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": buffer.getvalue()}
    content = b"!<arch>\n"
    for name, part in parts.items():
        content += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(part):<10}`\n".encode()
        content += part + b"\n" * (len(part) % 2)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def unpacked(deb: Path, target: Path) -> Path:
    with open_deb(deb) as files:
        unpack_deb(files, target, is_wanted=lambda path: not path.startswith("usr/share"))
    return target


@pytest.mark.parametrize(
    ("path", "merged"),
    [
        ("./bin/sh", "usr/bin/sh"),
        ("./lib64/ld.so", "usr/lib64/ld.so"),
        ("/sbin/ldconfig", "usr/sbin/ldconfig"),
        ("./usr/bin/gcc", "usr/bin/gcc"),
        ("./etc/passwd", "etc/passwd"),
        ("./", ""),
    ],
)
def test_usr_is_merged(path: str, merged: str) -> None:
    assert merge_usr(path) == merged


def test_package_gives_the_same_tree_whatever_its_modes(tmp_path: Path) -> None:
    deb = write_deb(tmp_path / "a.deb", FILES, {"./usr/bin/t": "tool"})
    tree = unpacked(deb, tmp_path / "one")
    assert (tree / "usr/bin/tool").stat().st_mode & 0o7777 == 0o755
    assert (tree / "usr/lib/x86_64-linux-gnu/libx.so.1").read_bytes() == b"elf"
    assert (tree / "usr/bin/t").readlink().name == "tool"
    assert not (tree / "usr/share").exists()
    assert nar_sha256(unpacked(deb, tmp_path / "two")) == nar_sha256(tree)


def test_package_that_leads_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    deb = write_deb(tmp_path / "a.deb", {"./usr/../../x": b""})
    with pytest.raises(SdkError, match=r"the package holds the path './usr/../../x'"):
        unpacked(deb, tmp_path / "tree")


@pytest.mark.parametrize("content", [b"", b"!<arch>\n", b"PK\3\4"], ids=["empty", "bare", "zip"])
def test_other_files_are_no_packages(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.deb").write_bytes(content)
    with (
        pytest.raises(SdkError, match="not the package that is wanted"),
        open_deb(tmp_path / "x.deb"),
    ):
        pass


def wanted(deb: Path, version: str, sha256: str = "") -> Wanted:
    known = {deb.name: sha256} if sha256 else {}
    return Wanted(name="gcc", version=version, source="debian", known=known)


def test_packages_are_found_in_a_folder_by_name_and_version(tmp_path: Path) -> None:
    deb = write_deb(tmp_path / "gcc_1%3a12.2-14_amd64.deb", FILES)
    write_deb(tmp_path / "gcc-12_1%3a12.2-14_amd64.deb", FILES)
    notes: list[str] = []
    path, found = get_file(
        wanted(deb, "1:12.2-14"),
        platform="x86_64-linux",
        offline=tmp_path,
        scratch=tmp_path,
        note=notes.append,
        cxx="",
    )
    assert (path, found.version) == (deb, "1:12.2-14")
    with pytest.raises(InputError, match=r"no package of gcc 1:12.3 here") as caught:
        get_file(
            wanted(deb, "1:12.3"),
            platform="x86_64-linux",
            offline=tmp_path,
            scratch=tmp_path,
            note=notes.append,
            cxx="",
        )
    assert caught.value.hint == f"cd {tmp_path} && apt-get download gcc=1:12.3"


def test_version_that_debian_dropped_is_replaced_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(word: str, folder: Path) -> bool:
        if word == "gcc":
            write_deb(folder / "gcc_13_amd64.deb", FILES)
        return word == "gcc"

    monkeypatch.setattr(fetch, "_run_apt", run)
    notes: list[str] = []
    _, found = get_file(
        wanted(tmp_path / "gcc_12_amd64.deb", "12", "a" * 64),
        platform="x86_64-linux",
        offline=None,
        scratch=tmp_path,
        note=notes.append,
        cxx="",
    )
    assert found.file == "gcc_13_amd64.deb"
    assert "Debian has dropped gcc=12: taking the gcc that it has now" in notes
    assert any("is not in the list of known files" in it for it in notes)


def record(*inputs: SdkInput) -> SdkRecord:
    return SdkRecord(
        kind="cxx", version="1", platform="x86_64-linux", inputs=inputs, nar_sha256="0" * 64
    )


def test_mirror_holds_the_locked_files_and_no_others(tmp_path: Path) -> None:
    deb = write_deb(tmp_path / "from/gcc_12_amd64.deb", FILES)
    import hashlib

    sha256 = hashlib.sha256(deb.read_bytes()).hexdigest()
    locked = SdkInput(name="gcc", version="12", file=deb.name, sha256=sha256)
    local = SdkInput(name="libx.so.1", version="libx.so.1.2", file="libx.so.1.2", sha256="b" * 64)
    place = tmp_path / "mirror"

    def collect(*inputs: SdkInput) -> tuple[tuple[str, ...], int]:
        done = mirror([record(*inputs)], place, offline=tmp_path / "from", note=lambda _: None)
        return done.files, done.added

    assert collect(locked, local) == ((deb.name,), 1)
    assert collect(locked, local) == ((deb.name,), 0)
    (place / deb.name).write_bytes(b"cut")
    assert collect(locked) == ((deb.name,), 1)
    assert [it.name for it in place.iterdir()] == [deb.name]
    other = SdkInput(name="gcc", version="12", file=deb.name, sha256="c" * 64)
    with pytest.raises(SdkError, match=f"sha256 is {sha256}, want {'c' * 64}"):
        collect(other)


def test_toolchain_is_for_one_release_and_platform() -> None:
    assert {it.source for it in cxx.wanted("12.2.0", "x86_64-linux")} == {"debian"}
    with pytest.raises(InputError, match=r"no cxx-12.2.0 for aarch64-linux") as caught:
        cxx.wanted("12.2.0", "aarch64-linux")
    assert caught.value.hint == "there is cxx-12.2.0"


def test_toolchain_tree_has_links_texts_and_places_for_mounts(tmp_path: Path) -> None:
    deb = write_deb(
        tmp_path / "a.deb",
        {
            "./usr/bin/g++-12": b"elf",
            "./usr/share/doc/gcc/copyright": b"GPL",
            "./usr/share/man/x": b"",
            "./usr/lib/gcc/x86_64-linux-gnu/12/libasan.so": b"",
        },
    )
    cxx.make({"gcc": deb}, "x86_64-linux", tmp_path / "tree", lambda _: None)
    tree = tmp_path / "tree"
    assert (tree / "bin/c++").read_bytes() == b"elf"
    assert (tree / "usr/share/doc/gcc/copyright").is_file()
    assert not (tree / "usr/share/man").exists()
    assert not (tree / "usr/lib/gcc/x86_64-linux-gnu/12/libasan.so").exists()
    assert all((tree / name).is_dir() for name in ("src", "sdk", "out", "build", "proc", "dev"))
    assert (tree / "etc/passwd").read_text().splitlines()[1].startswith("build:x:1000:1000:")
