"""What is read again before a cached build is imported, and what is refused."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import kernel_files, oid_of, unload_kernels, write_files

from kernelmill.runtime import integrity, stamps
from kernelmill.runtime.load import RepoInfo, load_variant
from kernelmill.spec.errors import DigestMismatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

COMMIT = "a" * 40
SOURCES = {"extra.py": "NAME = 'extra'\n", "inner/deep.py": "NAME = 'deep'\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def build(root: Path) -> Path:
    """A cached build, in huggingface_hub's layout: each file is a link to a blob."""
    files = kernel_files(sources=SOURCES, binaries={"data.abi3.so": b"not really one"})
    repository = root / "kernels--acme--toy"
    folder = repository / "snapshots" / COMMIT / "build" / "torch-cpu"
    write_files(repository / "blobs", {oid_of(content): content for content in files.values()})
    for path, content in files.items():
        link = folder / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(repository / "blobs" / oid_of(content), link.parent))
    return folder


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read to be hashed. Marks count at once, not after a while."""
    monkeypatch.setattr(stamps, "RACE_NS", -(10**15))
    seen: list[str] = []
    hash_file = integrity._hash_file

    def watch(path: Path, algorithm: object) -> str:
        seen.append(path.name)
        return hash_file(path, algorithm)  # type: ignore[arg-type]

    monkeypatch.setattr(integrity, "_hash_file", watch)
    return seen


def load(build: Path, root: Path) -> ModuleType:
    """Load as a new process would."""
    unload_kernels()
    integrity._compared.clear()
    return load_variant(build, root=root, repo_info=RepoInfo(repo_id="acme/toy", revision=COMMIT))


ALL = ["__init__.py", "data.abi3.so", "deep.py", "extra.py"]


def test_files_are_hashed_once_while_nothing_changes(
    build: Path, root: Path, hashed: list[str]
) -> None:
    """K4: unchanged files are not hashed every time."""
    load(build, root)
    assert sorted(hashed) == ALL
    hashed.clear()
    module = load(build, root)
    importlib.import_module(f"{module.__name__}.extra")
    assert hashed == []


def test_strict_mode_hashes_every_time(
    build: Path, root: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELS_STRICT", "1")
    for _ in range(2):
        hashed.clear()
        load(build, root)
        assert sorted(hashed) == ALL
    assert not (root / "kernels--acme--toy/checked").exists()


def test_only_the_file_that_was_touched_is_hashed_again(
    build: Path, root: Path, hashed: list[str]
) -> None:
    load(build, root)
    hashed.clear()
    (build / "extra.py").resolve().touch()
    load(build, root)
    assert hashed == ["extra.py"]


def test_file_that_was_just_written_is_hashed_again(
    build: Path, root: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could change once more under the same time of change."""
    monkeypatch.setattr(stamps, "RACE_NS", 3600 * 10**9)
    load(build, root)
    hashed.clear()
    load(build, root)
    assert sorted(hashed) == ALL


def flip(name: str) -> Callable[[Path], str]:
    def tamper(build: Path) -> str:
        path = (build / name).resolve()
        before = path.stat()
        content = bytearray(path.read_bytes())
        content[-2] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return f"File hash mismatch for {name}"

    return tamper


def add(name: str) -> Callable[[Path], str]:
    def tamper(build: Path) -> str:
        (build / name).write_text("raise SystemExit\n")
        return f"Unknown file: {name}"

    return tamper


def remove(build: Path) -> str:
    (build / "extra.py").unlink()
    return r"Missing file: extra\.py"


def remove_blob(build: Path) -> str:
    (build / "extra.py").resolve().unlink()
    return r"Missing file: extra\.py"


def lead_out(build: Path) -> str:
    outside = build.parents[5] / "outside.py"
    outside.write_bytes((build / "extra.py").read_bytes())
    (build / "extra.py").unlink()
    (build / "extra.py").symlink_to(os.path.relpath(outside, build))
    return r"Link out of .*: extra\.py -> .*outside\.py"


def lead_out_through_a_folder(build: Path) -> str:
    """The text of the link stays inside; what it leads to does not."""
    outside = build.parents[5] / "outside"
    write_files(outside / "blobs", {"x": (build / "extra.py").read_bytes()})
    (build.parents[2] / "way").symlink_to(outside, target_is_directory=True)
    (build / "extra.py").unlink()
    (build / "extra.py").symlink_to("../../../way/blobs/x")
    return r"Link out of .*: extra\.py -> .*outside/blobs/x"


def swap(build: Path) -> str:
    (build / "extra.py").unlink()
    (build / "extra.py").symlink_to((build / "__init__.py").readlink())
    return r"File hash mismatch for extra\.py"


@pytest.mark.parametrize(
    "tamper",
    [
        pytest.param(flip("data.abi3.so"), id="byte-of-a-library"),
        pytest.param(flip("extra.py"), id="byte-of-a-source"),
        pytest.param(flip("inner/deep.py"), id="byte-of-an-inner-source"),
        pytest.param(add("planted.py"), id="source"),
        pytest.param(add("inner/planted.abi3.so"), id="library"),
        pytest.param(add("planted.pyc"), id="bytecode"),
        pytest.param(remove, id="removed"),
        pytest.param(remove_blob, id="removed-blob"),
        pytest.param(lead_out, id="link-out"),
        pytest.param(lead_out_through_a_folder, id="link-out-through-a-folder"),
        pytest.param(swap, id="other-link"),
    ],
)
@pytest.mark.parametrize("is_known", [False, True], ids=["first-load", "after-a-load"])
def test_changed_build_is_refused_and_the_file_is_named(
    build: Path, root: Path, hashed: list[str], tamper: Callable[[Path], str], is_known: bool
) -> None:
    """K4, S5: with the marks of an earlier load, too, and with the time of writing set back."""
    if is_known:
        load(build, root)
    problem = tamper(build)
    with pytest.raises(DigestMismatch, match=problem):
        load(build, root)


def forge(build: Path, name: str) -> None:
    """Change a file in a way that its mark does not show: as by setting the machine's clock."""
    flip(name)(build)
    (path,) = build.parents[3].rglob("checked/*/torch-cpu.json")
    document = json.loads(path.read_text())
    status = (build / name).stat()
    target, *_, value = document["files"][name]
    times = [status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
    document["files"][name] = [target, status.st_size, *times, value]
    path.write_text(json.dumps(document))


def test_strict_mode_sees_a_change_of_the_same_size_and_time(
    build: Path, root: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load(build, root)
    forge(build, "data.abi3.so")
    load(build, root)  # docs/security.md says so
    monkeypatch.setenv("KERNELS_STRICT", "1")
    with pytest.raises(DigestMismatch, match=r"File hash mismatch for data\.abi3\.so"):
        load(build, root)


def test_source_is_compared_on_the_bytes_that_run_in_every_mode(
    build: Path, root: Path, hashed: list[str]
) -> None:
    load(build, root)
    forge(build, "extra.py")
    module = load(build, root)
    with pytest.raises(DigestMismatch, match=r"extra\.py is not the file that the kernel was"):
        importlib.import_module(f"{module.__name__}.extra")


def test_library_is_read_again_only_when_it_changed_since_the_check(
    build: Path, root: Path, hashed: list[str]
) -> None:
    module = load(build, root)
    flip("data.abi3.so")(build)
    with pytest.raises(DigestMismatch, match=r"data\.abi3\.so is not the file that the kernel"):
        importlib.import_module(f"{module.__name__}.data")


@pytest.mark.parametrize("text", ["", "[]", "null", '{"format":1}', '{"format":1,"files":{"a":1}}'])
def test_damaged_stamps_are_as_if_there_were_none(
    build: Path, root: Path, hashed: list[str], text: str
) -> None:
    load(build, root)
    (path,) = root.rglob("checked/*/*.json")
    path.write_text(text)
    hashed.clear()
    load(build, root)
    assert sorted(hashed) == ALL


def test_stamps_of_another_digest_do_not_count(build: Path, root: Path, hashed: list[str]) -> None:
    load(build, root)
    (path,) = root.rglob("checked/*/*.json")
    document = json.loads(path.read_text())
    for row in document["files"].values():
        row[-1] = "another"
    path.write_text(json.dumps(document))
    hashed.clear()
    load(build, root)
    assert sorted(hashed) == ALL


def test_nothing_is_written_into_the_store_and_it_stays_whole(
    build: Path, root: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """L13: no bytecode, and the digest holds before and after the import."""
    before = sorted(root.rglob("snapshots/**/*")), sorted(root.rglob("blobs/*"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    module = load(build, root)
    importlib.import_module(f"{module.__name__}.inner.deep")
    assert (sorted(root.rglob("snapshots/**/*")), sorted(root.rglob("blobs/*"))) == before
    load(build, root)


def test_folder_outside_a_cache_gets_no_stamps(tmp_path: Path, hashed: list[str]) -> None:
    folder = write_files(tmp_path / "repo/build/torch-cpu", kernel_files())
    for _ in range(2):
        hashed.clear()
        load(folder, tmp_path)
        assert hashed == ["__init__.py"]
    assert not list(tmp_path.rglob("checked"))
