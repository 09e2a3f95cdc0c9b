"""Kernels of somebody else: links that lead out, names that are taken, texts that are none."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from kernelmill.builder import writing
from kernelmill.builder.cli import main
from kernelmill.builder.cli.build_and_copy import copy_variants
from kernelmill.builder.errors import FilesExist, SourceError, ToolchainError
from kernelmill.builder.fileset import FileSet
from kernelmill.builder.hashing import hash_variant
from kernelmill.builder.noarch import build
from kernelmill.builder.package import replace_folder
from kernelmill.builder.runners.parcel import pack_sources
from kernelmill.builder.shell_environment import plan_start
from kernelmill.builder.sources import read_tree
from kernelmill.builder.workplace import clear, make_folder, only_build
from kernelmill.builder.writing import replace_text
from kernelmill.spec.errors import HostError

MANIFEST = """\
[general]
name = "my-toy"
version = 3
edition = 5
license = "MIT"
backends = ["cpu"]
[general.hub]
repo-id = "acme/my-toy"
[torch-noarch]
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that is none of the kernel's."""
    path = tmp_path / "home/bashrc"
    path.parent.mkdir()
    path.write_text("mine")
    return path


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    root = tmp_path / "kernel"
    (root / "torch-ext/my_toy").mkdir(parents=True)
    (root / "build.toml").write_text(MANIFEST)
    (root / "CARD.md").write_text("# {{ repo_id }}{{ functions }}\n")
    (root / "torch-ext/my_toy/__init__.py").write_text('__all__ = ["f"]\n')
    return root


# What is written


def test_temporary_name_that_is_a_link_is_not_written_through(
    tmp_path: Path, outside: Path
) -> None:
    root = tmp_path / "new"
    root.mkdir()
    (root / ".CMakeLists.txt.tmp").symlink_to(outside)
    FileSet({"CMakeLists.txt": "text"}).write(root)
    assert outside.read_text() == "mine"
    assert [it.name for it in root.iterdir()] == ["CMakeLists.txt"]


def test_card_is_not_written_through_links(kernel: Path, outside: Path) -> None:
    (kernel / "build").mkdir()
    (kernel / "build/.CARD.md.tmp").symlink_to(outside)
    (kernel / "build/CARD.md").symlink_to(outside)
    assert main(["fill-card", str(kernel)]) == 0
    assert outside.read_text() == "mine"
    assert not (kernel / "build/CARD.md").is_symlink()


def test_hash_is_not_written_through_links(kernel: Path, outside: Path) -> None:
    assert main(["build", str(kernel)]) == 0
    variant = kernel / "build/torch-cpu"
    (variant / "__init__.py").write_text("changed = 1\n")
    for name in (".metadata.json.tmp", "metadata.json.new"):
        (variant / name).symlink_to(outside)
    assert hash_variant(variant).is_changed
    assert outside.read_text() == "mine"


def test_files_are_not_written_beyond_a_link(tmp_path: Path, outside: Path) -> None:
    root = tmp_path / "new"
    root.mkdir()
    (root / "cmake").symlink_to(outside.parent)
    with pytest.raises(HostError, match="is a link out of the folder") as caught:
        FileSet({"a": "text", "cmake/bashrc": "text"}).write(root, force=True)
    assert caught.value.where == str(root / "cmake")
    assert outside.read_text() == "mine"
    assert [it.name for it in root.iterdir()] == ["cmake"]


def test_nothing_is_written_where_a_folder_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "z/in").mkdir(parents=True)
    with pytest.raises(FilesExist, match="z is a folder"):
        FileSet({"a/b": "text", "z": "text"}).write(tmp_path, force=True)
    assert [it.name for it in tmp_path.iterdir()] == ["z"]


@pytest.mark.parametrize("last", ["x" * 300, "file/in", f"made/{'x' * 300}", f"in/{'x' * 300}/x"])
def test_nothing_stays_when_the_last_file_cannot_be_written(last: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "a").write_text("old")
    with pytest.raises(HostError, match="cannot write "):
        FileSet({"a": "new", "deep/er/b": "new", last: "new"}).write(tmp_path, force=True)
    assert sorted(it.name for it in tmp_path.rglob("*")) == ["a", "file"]
    assert (tmp_path / "a").read_text() == "old"


def test_disk_that_is_full_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_new, count = writing._write_new, []

    def fill(place: Path, text: str) -> None:
        write_new(place, text)
        count.append(place)
        if len(count) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing, "_write_new", fill)
    (tmp_path / "a").write_text("old")
    with pytest.raises(HostError, match=r"cannot write b: No space left on device"):
        FileSet({"a": "new", "b": "new", "c": "new"}).write(tmp_path, force=True)
    assert [it.name for it in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize(
    ("number", "hint"),
    [(errno.ENOSPC, "make room on the disk"), (errno.EROFS, "choose a folder that you may")],
)
def test_disk_that_refuses_a_build_is_one_error(
    number: int,
    hint: str,
    kernel: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(build, "replace_folder", refuse)
    assert main(["build", str(kernel)]) == 3
    said = capsys.readouterr().err
    assert f"torch-cpu: cannot be written: {os.strerror(number)}" in said
    assert f"hint: {hint}" in said
    assert "Traceback" not in said


def test_bug_of_ours_is_not_called_a_full_disk(kernel: Path) -> None:
    work = kernel / ".kernelmill/x"
    make_folder(work)
    with pytest.raises(FileNotFoundError, match="No such file"), only_build(work):
        (work / "none").read_text()


def test_init_into_a_name_that_is_too_long_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--name", "toy", str(tmp_path / ("n" * 300))]) == 3
    assert "File name too long" in capsys.readouterr().err


def test_text_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file/in").mkdir(parents=True)
    with pytest.raises(OSError, match="Is a directory"):
        replace_text(tmp_path / "file", "text")
    assert [it.name for it in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("kind", ["link to a folder", "broken link", "file"])
def test_build_takes_the_place_of_what_is_no_folder(kind: str, kernel: Path, outside: Path) -> None:
    place = kernel / "build/torch-cpu"
    place.parent.mkdir()
    if kind == "file":
        place.write_text("in the way")
    else:
        place.symlink_to(outside.parent if kind == "link to a folder" else "nowhere")
    for _ in range(2):
        assert main(["build", str(kernel)]) == 0
        assert not place.is_symlink()
        assert (place / "metadata.json").is_file()
    assert outside.read_text() == "mine"


def test_trash_of_a_build_is_never_a_place_elsewhere(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / "old").symlink_to(outside.parent)
    replace_folder(tmp_path / "new", tmp_path / "target", trash=tmp_path / "old")
    assert outside.read_text() == "mine"
    assert not (tmp_path / "old").is_symlink()


def test_folder_of_builds_that_is_a_link_is_refused(kernel: Path, outside: Path) -> None:
    (kernel / ".kernelmill").mkdir()
    (kernel / ".kernelmill/torch-cpu").symlink_to(outside.parent)
    with pytest.raises(HostError, match="is a link"):
        make_folder(kernel / ".kernelmill/torch-cpu/project")
    assert main(["build", str(kernel)]) == 3
    assert [it.name for it in outside.parent.iterdir()] == ["bashrc"]


def test_folder_of_all_builds_may_be_on_another_disk(kernel: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (kernel / ".kernelmill").symlink_to(tmp_path / "disk")
    assert main(["build", str(kernel)]) == 0


def test_clearing_a_link_leaves_what_it_leads_to(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "link").symlink_to(outside.parent)
    clear(tmp_path / "link")
    assert outside.exists()
    assert not (tmp_path / "link").is_symlink()


# What is read


@pytest.mark.parametrize("name", ["CARD.md", "torch-ext/my_toy/__init__.py"])
def test_card_shows_nothing_of_other_folders(
    name: str, kernel: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kernel / name).unlink()
    (kernel / name).symlink_to(outside)
    assert main(["fill-card", str(kernel), "-o", "-"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{name!r} is a link out of the repository" in said.err


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("CARD.md", b"\xff\xfe", "CARD.md: is not UTF-8"),
        ("CARD.md", b"{{ 1 / 0 }}", "CARD.md: cannot be filled in: division by zero"),
        ("CARD.md", b"{{ version + 'x' }}", "cannot be filled in: unsupported operand"),
        ("CARD.md", b"{% include 'x' %}", "cannot be filled in: no loader"),
        ("CARD.md", b"{{ range(10 ** 9) }}", "cannot be filled in: Range too big"),
        ("CARD.md", b"{{ ''.__class__.__mro__ }}", "is unsafe"),
        ("CARD.md", b"{{ functions.__class__.__base__ }}", "is unsafe"),
        ("CARD.md", b"{{ '%d' % 'x' }}", "cannot be filled in: %d format"),
        ("torch-ext/my_toy/__init__.py", b"def f(:\n", "this is no Python: invalid syntax, line 1"),
        ("torch-ext/my_toy/__init__.py", b"x = '\0'\n", "this is no Python: source code"),
        ("torch-ext/my_toy/__init__.py", b"\xff\n", "__init__.py: is not UTF-8"),
        ("torch-ext/my_toy/layers.py", b"class (\n", "this is no Python: invalid syntax, line 1"),
    ],
)
def test_card_that_cannot_be_filled_in_is_one_error(
    name: str, content: bytes, problem: str, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kernel / name).write_bytes(content)
    assert main(["fill-card", str(kernel)]) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert "hint: " in said
    assert "Traceback" not in said
    assert not (kernel / "build").exists()


def test_license_of_another_folder_is_not_sent_to_workers(kernel: Path, outside: Path) -> None:
    (kernel / "LICENSE").symlink_to(outside)
    with pytest.raises(SourceError, match="'LICENSE' is a link out of the repository"):
        pack_sources(read_tree(kernel))


def test_upload_takes_no_module_from_the_folder_that_we_are_in(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", str(kernel)]) == 0
    for name in ("argparse", "json", "kernelmill"):
        (kernel / f"{name}.py").write_text("open('evil', 'w').close()\nraise SystemExit(7)\n")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(str(Path(it).absolute()) for it in sys.path if it)
    )
    monkeypatch.chdir(kernel)
    assert main(["upload", str(kernel), "--dry-run"]) == 0
    assert "build/torch-cpu/__init__.py" in capfd.readouterr().out
    assert not (kernel / "evil").exists()


# Copies


@pytest.fixture
def builds(tmp_path: Path) -> Path:
    (tmp_path / "result/torch-cpu").mkdir(parents=True)
    (tmp_path / "result/torch-cpu/metadata.json").write_text("{}")
    return tmp_path / "result"


def test_links_out_of_the_builds_are_not_copied(builds: Path, kernel: Path, outside: Path) -> None:
    for target in (outside, outside.parent):
        (builds / "torch-cpu/more").symlink_to(target)
        with pytest.raises(SourceError, match="is a link out of the builds"):
            copy_variants(builds, kernel)
        (builds / "torch-cpu/more").unlink()
    assert not (kernel / "build").exists()


def test_links_in_circles_are_not_followed(builds: Path, kernel: Path) -> None:
    (builds / "torch-cpu/a").mkdir()
    (builds / "torch-cpu/b").mkdir()
    (builds / "torch-cpu/a/to_b").symlink_to(builds / "torch-cpu/b")
    (builds / "torch-cpu/b/to_a").symlink_to(builds / "torch-cpu/a")
    with pytest.raises(SourceError, match="is a link to a folder around it"):
        copy_variants(builds, kernel)


@pytest.mark.parametrize("kind", ["pipe", "broken link"])
def test_what_cannot_be_copied_is_named_and_nothing_is_lost(
    kind: str, builds: Path, kernel: Path
) -> None:
    (kernel / "build/torch-cpu").mkdir(parents=True)
    (kernel / "build/torch-cpu/old").touch()
    odd = builds / "torch-cpu/odd"
    os.mkfifo(odd) if kind == "pipe" else odd.symlink_to("nowhere")
    with pytest.raises(SourceError, match="cannot be copied: ") as caught:
        copy_variants(builds, kernel)
    assert "odd" in str(caught.value)
    assert (kernel / "build/torch-cpu/old").exists()


def test_links_of_a_store_are_followed_and_old_files_give_way(
    builds: Path, kernel: Path, tmp_path: Path
) -> None:
    (builds / "torch-cpu").rename(tmp_path / "stored")
    (builds / "torch-cpu").symlink_to(tmp_path / "stored")
    (kernel / "build/torch-cpu").mkdir(parents=True)
    (kernel / "build/torch-cpu/old").touch()
    assert copy_variants(builds, kernel) == (kernel / "build/torch-cpu",)
    assert [it.name for it in (kernel / "build/torch-cpu").iterdir()] == ["metadata.json"]


def test_copies_are_made_one_at_a_time(builds: Path, kernel: Path) -> None:
    work = kernel / ".kernelmill/copies"
    make_folder(work)
    with only_build(work), pytest.raises(HostError, match="being built already"):
        copy_variants(builds, kernel)


# Shells


def test_fish_reads_a_folder_as_it_is_called() -> None:
    folder = "/a\\'; touch evil; '"
    start = plan_start("fish", title="t", env={"PATH": f"{folder}:/bin\\"}, folder="/f")
    text = start.command[2]
    assert text.startswith("set -gx PATH '/a\\\\\\'; touch evil; \\'' '/bin\\\\'\n")


def test_program_that_is_none_is_one_error(
    kernel: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF\0")
    program.chmod(0o755)
    assert main(["devshell", str(kernel), "--", str(program)]) == ToolchainError.exit_code
    assert f"{program} cannot be started: Exec format error" in capfd.readouterr().err


def test_report_of_an_upload_has_a_place_before_the_upload(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["upload", str(kernel), "--output-json", str(kernel / "none/report.json")]
    assert main(words) == 2
    assert "--output-json: " in capsys.readouterr().err
