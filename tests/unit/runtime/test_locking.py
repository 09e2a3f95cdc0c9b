from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files

from kernelmill.runtime import locking
from kernelmill.runtime.cli import main
from kernelmill.runtime.errors import NotTrusted, VersionNotFound
from kernelmill.runtime.locking import (
    Locker,
    find_cycles,
    find_lockfile,
    open_live_hub,
    write_egg_lockfile,
)
from kernelmill.runtime.locking_changes import compare, keep_nix_hashes, wish_of
from kernelmill.runtime.locking_project import parse_project, read_project, require_dependencies
from kernelmill.runtime.settings import read_settings
from kernelmill.spec import lockfile as lock_format
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.errors import InputError
from kernelmill.spec.lockfile import LockedKernel, Lockfile
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.runtime.cache import Cache

ONE, TWO = "1" * 40, "2" * 40


def wish(repo: str, version: int | None = 1, revision: str | None = None) -> KernelDependency:
    return KernelDependency(repo_id=RepoId.parse(repo), version=version, revision=revision)


def locked(repo: str, version: int | None = 1, commit: str = ONE) -> LockedKernel:
    return LockedKernel(repo_id=RepoId.parse(repo), version=version, commit=commit)


def files_with(*depends: KernelDependency, value: object = 1) -> dict[str, bytes]:
    """Return a build that loads other kernels."""
    files = kernel_files(value=value)
    metadata = metadata_format.parse(files["metadata.json"].decode(), where="metadata.json")
    changed = replace(metadata, kernel_depends=depends)
    return files | {"metadata.json": metadata_format.dumps(changed).encode()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param('"acme/toy" = 1', wish("acme/toy"), id="version"),
        pytest.param('"acme/toy" = { version = 2 }', wish("acme/toy", 2), id="version-table"),
        pytest.param(
            '"acme/toy" = { revision = "main" }', wish("acme/toy", None, "main"), id="revision"
        ),
    ],
)
def test_project_names_what_it_loads(line: str, expected: KernelDependency) -> None:
    project = parse_project(f'[project]\nname = "x"\n[tool.kernels.dependencies]\n{line}\n')
    assert (project.name, project.dependencies) == ("x", (expected,))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param('"acme/toy" = "1"', "'1' is no version", id="text"),
        pytest.param('"acme/toy" = true', "True is true or false", id="boolean"),
        pytest.param('"acme/toy" = -1', "-1 is negative", id="negative"),
        pytest.param("toy = 1", "'toy' is not a repository id", id="no-owner"),
        pytest.param('"a/b" = {}', "give either a version or a revision", id="neither"),
        pytest.param('"a/b" = {version = 1, revision = "x"}', "give either", id="both"),
        pytest.param('"a/b" = {versoin = 1}', "unknown key 'versoin'", id="typo"),
        pytest.param('"a/b" = [1]', r"\[1\] is an array", id="array"),
    ],
)
def test_project_mistake_is_named_with_its_line(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse_project(f"[tool.kernels.dependencies]\n{line}\n")
    assert str(caught.value).startswith("pyproject.toml:2 tool.kernels.dependencies.")


def test_project_without_the_table_is_told_so() -> None:
    """R12, and defect 4 of the peer: it fails with an AttributeError."""
    for content in ("", "[tool]\n", "[tool.kernels]\n"):
        with pytest.raises(InputError, match=r"there is no table \[tool\.kernels\.dependencies\]"):
            require_dependencies(parse_project(content), where="pyproject.toml")
    empty = parse_project("[tool.kernels.dependencies]\n")
    assert require_dependencies(empty, where="pyproject.toml") == ()


def test_project_that_is_no_toml_or_not_there_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not valid TOML"):
        parse_project("[tool")
    with pytest.raises(InputError, match=r"there is no pyproject\.toml"):
        read_project(tmp_path)


def test_lock_explores_every_build_of_every_dependency(hub: MemoryHub, cache: Cache) -> None:
    """R13: also builds that are not for this machine, and not for PyTorch's own ABI."""
    hub.publish(
        "acme/top",
        "v1",
        {
            "torch-cpu": files_with(wish("acme/left")),
            "tvm-ffi01-cu128-aarch64-linux": files_with(wish("acme/right", 2)),
            "not-a-variant": {"metadata.json": b"{}"},
        },
    )
    hub.publish("acme/left", "v1", {"torch-cpu": files_with(wish("acme/leaf", None, "main"))})
    hub.publish("acme/right", "v2", {"torch-cuda": files_with(wish("acme/leaf", None, "main"))})
    leaf = hub.publish("acme/leaf", "main", {"torch-cpu": kernel_files()})
    lock = Locker(hub=hub, cache=cache).lock([wish("acme/top")])
    names = [(str(it.repo_id), wish_of(it)) for it in lock.lockfile.kernels]
    assert names == [
        ("acme/leaf", "revision main"),
        ("acme/left", "version 1"),
        ("acme/right", "version 2"),
        ("acme/top", "version 1"),
    ]
    assert lock.lockfile.kernels[0].commit == leaf
    assert lock.cycles == ()
    downloads = [it for it in hub.calls if it.startswith("download")]
    assert len(downloads) == 5
    assert all(it.endswith("/metadata.json") for it in downloads)


def test_lock_reports_kernels_that_load_each_other(hub: MemoryHub, cache: Cache) -> None:
    hub.publish("acme/a", "v1", {"torch-cpu": files_with(wish("acme/b"))})
    hub.publish("acme/b", "v1", {"torch-cpu": files_with(wish("acme/a"))})
    lock = Locker(hub=hub, cache=cache).lock([wish("acme/a")])
    assert len(lock.lockfile.kernels) == 2
    assert lock.cycles == (("acme/a version 1", "acme/b version 1", "acme/a version 1"),)


def test_cycle_is_found_behind_a_way_in_and_once() -> None:
    a, b, c, d = (wish(f"acme/{name}") for name in "abcd")
    assert find_cycles({a: (b,), b: (c,), c: (d,), d: (b,)}) == (
        ("acme/b version 1", "acme/c version 1", "acme/d version 1", "acme/b version 1"),
    )
    assert find_cycles({a: (a,)}) == (("acme/a version 1", "acme/a version 1"),)
    assert find_cycles({a: (b, c), b: (d,), c: (d,), d: ()}) == ()


def test_lock_asks_for_trust_before_anything_else(hub: MemoryHub, cache: Cache) -> None:
    """S-group: the gate holds for the lock too; defect 3 of the peer: it cannot be opened."""
    hub.publish("acme/top", "v1", {"torch-cpu": files_with(wish("stranger/toy"))})
    hub.publish("stranger/toy", "v1", {"torch-cpu": kernel_files()})
    with pytest.raises(NotTrusted, match="is not from a trusted publisher") as caught:
        Locker(hub=hub, cache=cache).lock([wish("acme/top")])
    assert "--allow stranger/toy" in str(caught.value)
    assert hub.calls[-1] == "trust"
    allowed = Locker(hub=hub, cache=cache, trust=["stranger/toy"]).lock([wish("acme/top")])
    assert len(allowed.lockfile.kernels) == 2


def test_lock_names_a_missing_version(hub: MemoryHub, cache: Cache) -> None:
    hub.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    with pytest.raises(VersionNotFound, match="Version 9 not found, available versions: 1"):
        Locker(hub=hub, cache=cache).lock([wish("acme/toy", 9)])


def test_lock_warns_of_builds_that_say_nothing(
    hub: MemoryHub, cache: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    hub.publish("acme/old", "v1", {"torch-cpu": {"__init__.py": b""}})
    lock = Locker(hub=hub, cache=cache).lock([wish("acme/old")])
    assert len(lock.lockfile.kernels) == 1
    assert "torch-cpu of 'acme/old' holds no metadata.json" in caplog.text


def test_lock_warns_of_a_kernel_without_builds(
    hub: MemoryHub, cache: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    commit = hub.publish("acme/moved", "v1", {})
    Locker(hub=hub, cache=cache).lock([wish("acme/moved")])
    assert f"'acme/moved' has no builds at {commit}" in caplog.text


def test_lock_needs_the_network() -> None:
    with pytest.raises(InputError, match="locking needs the Hub"):
        open_live_hub(read_settings({"HF_HUB_OFFLINE": "1"}))


def test_compare_says_what_moved() -> None:
    old = Lockfile(kernels=(locked("acme/gone"), locked("acme/same"), locked("acme/toy")))
    new = Lockfile(
        kernels=(locked("acme/new", 3), locked("acme/same"), locked("acme/toy", commit=TWO))
    )
    assert list(map(str, compare(old, new))) == [
        "acme/gone version 1: locked, but nothing asks for it",
        f"acme/new version 3: not locked yet, would be {ONE}",
        f"acme/toy version 1: {ONE} -> {TWO}",
    ]
    assert compare(new, new) == ()
    (old_format, added) = compare(
        Lockfile(kernels=(locked("acme/toy", None),)), Lockfile(kernels=(locked("acme/toy"),))
    )
    assert (old_format.kind, added.kind) == ("format", "added")


def test_nix_hash_stays_with_its_commit() -> None:
    old = Lockfile(kernels=(replace(locked("acme/toy"), nix_hash="sha256-x"),))
    kept = keep_nix_hashes(Lockfile(kernels=(locked("acme/toy"),)), old)
    assert kept.kernels[0].nix_hash == "sha256-x"
    moved = keep_nix_hashes(Lockfile(kernels=(locked("acme/toy", commit=TWO),)), old)
    assert moved.kernels[0].nix_hash is None


class Written(dict[str, str]):
    """Stands for setuptools' command."""

    def write_or_delete_file(
        self,
        what: str,
        filename: str,
        data: str,
        force: bool = False,
    ) -> None:
        assert (what, force) == ("kernels.lock", False)
        self[filename] = data


def test_egg_info_takes_the_lock_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = Written()
    write_egg_lockfile(written, "kernels.lock", "x.egg-info/kernels.lock")
    assert written == {"x.egg-info/kernels.lock": ""}, "setuptools removes what is stale"
    text = lock_format.dumps(Lockfile(kernels=(locked("acme/toy"),)))
    Path("kernels.lock").write_text(text)
    write_egg_lockfile(written, "kernels.lock", "x.egg-info/kernels.lock")
    assert written == {"x.egg-info/kernels.lock": text}
    Path("kernels.lock").write_text("{")
    with pytest.raises(ValueError, match="Cannot parse KernelLocks"):
        write_egg_lockfile(written, "kernels.lock", "x.egg-info/kernels.lock")


@pytest.fixture
def project(tmp_path: Path, hub: MemoryHub, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one dependency, and the commands' Hub in memory."""
    monkeypatch.setattr(locking, "open_live_hub", lambda _: hub)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.kernels.dependencies]\n"acme/toy" = 1\n')
    return folder


def test_lock_command_writes_and_checks(
    hub: MemoryHub, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    assert main(["lock", str(project), "--check"]) == 1
    assert "write it: kernels lock" in capsys.readouterr().err
    assert not find_in(project), "a check writes nothing"
    assert main(["lock", str(project)]) == 0
    assert "locked 1 kernel in" in capsys.readouterr().err
    (entry,) = json.loads((project / "kernels.lock").read_text())
    first = entry["lock"]["commit"]
    assert entry == {
        "dependency": {"repo-id": "acme/toy", "version": 1},
        "lock": {"commit": hub.repos["acme/toy"].branches["v1"]},
    }
    assert main(["lock", str(project), "--check"]) == 0
    assert "is up to date: 1 kernel" in capsys.readouterr().err
    second = hub.publish("acme/toy", "v1", {"torch-cpu": kernel_files(value=2)})
    assert main(["lock", str(project), "--check"]) == 1
    assert capsys.readouterr().out == f"acme/toy version 1: {first} -> {second}\n"
    assert main(["lock", str(project), "--check", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["was_current"]) == (1, False)
    assert document["changes"][0] == {
        "kind": "moved",
        "repo_id": "acme/toy",
        "wanted": "version 1",
        "before": first,
        "after": second,
    }


def test_lock_command_replaces_a_damaged_lock_but_does_not_check_it(
    hub: MemoryHub, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    (project / "kernels.lock").write_text("{")
    assert main(["lock", str(project), "--check"]) == 2
    assert "Cannot parse KernelLocks" in capsys.readouterr().err
    assert main(["lock", str(project)]) == 0
    assert "replacing a lock file that cannot be read" in capsys.readouterr().err
    assert len(lock_format.parse((project / "kernels.lock").read_text()).kernels) == 1


def test_lock_command_leaves_the_lock_alone_when_it_fails(
    hub: MemoryHub, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "kernels.lock").write_text("[]")
    assert main(["lock", str(project)]) == 4
    assert "no kernel repository 'acme/toy'" in capsys.readouterr().err
    assert (project / "kernels.lock").read_text() == "[]"


def find_in(project: Path) -> Mapping[str, int]:
    return {it.name: it.stat().st_size for it in project.iterdir() if it.suffix == ".lock"}


def test_lock_file_is_found_by_folder_and_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"No kernels\.lock file found in: "):
        find_lockfile(tmp_path)
    (tmp_path / "kernels.lock").write_text("[]")
    assert find_lockfile(tmp_path) == find_lockfile(tmp_path / "kernels.lock")
