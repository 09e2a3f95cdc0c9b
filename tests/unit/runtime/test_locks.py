"""Locked loading: the commits of a lock file, and nothing else."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.runtime.kernel_files import (
    MemoryHub,
    kernel_files,
    unload_kernels,
    write_files,
)

from kernelmill.runtime import api, locks, session
from kernelmill.runtime.errors import NotCached, NotLocked, NotTrusted
from kernelmill.runtime.hub.cached import CachedHub
from kernelmill.runtime.hub.remembered import RememberedHub
from kernelmill.spec.errors import DigestMismatch, LockfileError
from kernelmill.spec.lockfile import hash_variant
from kernelmill.spec.metadata import KernelDependency
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.settings import Settings

TOY, LOW = "acme/toy", "acme/low"
NEEDS_LOW = (KernelDependency(repo_id=RepoId.parse(LOW), version=1),)
USER = (
    "from kernelmill.runtime.api import get_kernel_dep\n"
    f"VALUE = 'toy', get_kernel_dep({LOW!r}).VALUE\n"
)


@pytest.fixture
def hub(process_session: MemoryHub) -> MemoryHub:
    process_session.publish(LOW, "v1", {"torch-cpu": kernel_files(value="low")})
    build = kernel_files(sources={"__init__.py": USER}, kernel_depends=NEEDS_LOW)
    process_session.publish(TOY, "v1", {"torch-cpu": build})
    return process_session


def lock(hub: MemoryHub, *repos: str) -> list[dict[str, Any]]:
    return [
        {
            "dependency": {"repo-id": repo, "version": 1},
            "lock": {"commit": hub.repos[repo].branches["v1"]},
        }
        for repo in repos
    ]


def write_lock(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def lockfile(hub: MemoryHub, tmp_path: Path) -> Path:
    return write_lock(tmp_path / "kernels.lock", lock(hub, TOY, LOW))


def test_locked_kernel_is_loaded_at_its_commit_and_so_is_what_it_needs(
    hub: MemoryHub, lockfile: Path
) -> None:
    """K1: the branch has moved on since."""
    for repo in (TOY, LOW):
        hub.publish(repo, "v1", {"torch-cpu": kernel_files(value="moved on")})
    assert api.get_locked_kernel(TOY, lockfile=lockfile).VALUE == ("toy", "low")
    assert "refs" not in hub.calls, "a commit needs no branch"


def test_locked_loading_ignores_overrides(
    hub: MemoryHub, lockfile: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOCAL_KERNELS", f"{TOY}={tmp_path}:{LOW}={tmp_path}")
    assert api.get_locked_kernel(TOY, lockfile=lockfile).VALUE == ("toy", "low")


@pytest.mark.parametrize("missing", [TOY, LOW])
def test_kernel_that_is_not_locked_is_named(hub: MemoryHub, tmp_path: Path, missing: str) -> None:
    path = write_lock(tmp_path / "kernels.lock", lock(hub, *({TOY, LOW} - {missing})))
    with pytest.raises(
        NotLocked, match=rf"Kernel `{missing}` is not locked.\n  hint: lock it with"
    ):
        api.get_locked_kernel(TOY, lockfile=path)
    assert [call for call in hub.calls if "__init__" in call] == []


def test_kernel_that_is_locked_twice_has_to_be_named_exactly(
    hub: MemoryHub, tmp_path: Path
) -> None:
    entries = lock(hub, TOY, LOW)
    entries.append({**entries[0], "dependency": {"repo-id": TOY, "version": 2}})
    path = write_lock(tmp_path / "kernels.lock", entries)
    with pytest.raises(LockfileError, match="'acme/toy' is locked more than once: version 1, ver"):
        api.get_locked_kernel(TOY, lockfile=path)


def test_lock_vouches_for_nobody(hub: MemoryHub, lockfile: Path) -> None:
    hub.trusted.clear()
    with pytest.raises(NotTrusted, match="'acme/toy' is not from a trusted publisher"):
        api.get_locked_kernel(TOY, lockfile=lockfile)
    kernel = api.get_locked_kernel(TOY, lockfile=lockfile, trust_remote_code=[TOY, LOW])
    assert kernel.VALUE == ("toy", "low")


def test_changed_file_of_a_locked_kernel_is_refused(
    hub: MemoryHub, lockfile: Path, cache: Cache
) -> None:
    api.get_locked_kernel(TOY, lockfile=lockfile)
    unload_kernels()
    (path,) = cache.repo_folder(RepoId.parse(LOW)).rglob("snapshots/*/build/torch-cpu/__init__.py")
    content = path.read_bytes()
    path.resolve().write_bytes(content.replace(b"'low'", b"'bad'"))
    with pytest.raises(DigestMismatch, match=r"File hash mismatch for __init__\.py"):
        api.get_locked_kernel(TOY, lockfile=lockfile)


@pytest.fixture
def switchable(hub: MemoryHub, monkeypatch: pytest.MonkeyPatch) -> MemoryHub:
    """A Hub that is only remembered where a call says so."""

    def open_hub(settings: Settings, cache: Cache, *_: object) -> Hub:
        if settings.is_offline:
            return CachedHub(endpoint=hub.endpoint, cache=cache)
        return RememberedHub(endpoint=hub.endpoint, cache=cache, connect=lambda: hub, max_age_s=0)

    monkeypatch.setattr(session, "open_hub", open_hub)
    return hub


def test_load_kernel_uses_what_was_downloaded_and_no_network(
    switchable: MemoryHub, lockfile: Path
) -> None:
    with pytest.raises(NotTrusted, match="the Hub is in offline mode, and is not known to have"):
        api.load_kernel(TOY, lockfile=lockfile)
    with pytest.raises(NotCached, match="Cannot find a local snapshot for acme/toy"):
        api.load_kernel(TOY, lockfile=lockfile, trust_remote_code=True)
    api.get_locked_kernel(TOY, lockfile=lockfile)
    unload_kernels()
    for repo in (TOY, LOW):
        switchable.publish(repo, "v1", {"torch-cpu": kernel_files(value="moved on")})
        api.install_kernel(repo, version=1)
    switchable.calls.clear()
    assert api.load_kernel(TOY, lockfile=lockfile).VALUE == ("toy", "low")
    assert api.load_kernel(TOY, lockfile=lockfile, backend="cpu").VALUE == ("toy", "low")
    assert switchable.calls == []


def test_install_of_local_files_uses_no_network(switchable: MemoryHub) -> None:
    with pytest.raises(FileNotFoundError):
        api.install_kernel(
            TOY,
            revision=switchable.repos[TOY].branches["v1"],
            local_files_only=True,
            trust_remote_code=True,
        )
    folder = api.install_kernel(TOY, version=1)
    switchable.calls.clear()
    assert api.install_kernel(TOY, version=1, local_files_only=True) == folder
    assert switchable.calls == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"{", "Cannot parse KernelLocks: ", id="not-json"),
        pytest.param(b"\xff", "the lock file cannot be read: ", id="not-text"),
        pytest.param(None, "there is no lock file '.*kernels.lock'", id="missing"),
    ],
)
def test_unusable_lock_file_is_named(
    hub: MemoryHub, tmp_path: Path, content: bytes | None, problem: str
) -> None:
    path = tmp_path / "kernels.lock"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=problem) as caught:
        api.get_locked_kernel(TOY, lockfile=path)
    assert isinstance(caught.value, FileNotFoundError) is (content is None)
    assert hub.calls == []


def flip_byte(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


@pytest.mark.parametrize(
    ("tamper", "problem"),
    [
        pytest.param(
            lambda it: flip_byte((it / "data.so").resolve()),
            "File hash mismatch for data.so",
            id="so",
        ),
        pytest.param(
            lambda it: flip_byte((it / "__init__.py").resolve()),
            "mismatch for __init__.py",
            id="py",
        ),
        pytest.param(lambda it: (it / "x.py").touch(), "Unknown file: x.py", id="added"),
        pytest.param(lambda it: (it / "data.so").unlink(), "Missing file: data.so", id="removed"),
    ],
)
def test_locked_kernel_is_refused_when_a_file_changed_after_the_download(
    switchable: MemoryHub, tmp_path: Path, tamper: Callable[[Path], None], problem: str
) -> None:
    """K4."""
    build = kernel_files(value="low", binaries={"data.so": b"\x7fELF"})
    switchable.publish(LOW, "v1", {"torch-cpu": build})
    path = write_lock(tmp_path / "kernels.lock", lock(switchable, LOW))
    tamper(api.install_kernel(LOW, version=1))
    with pytest.raises(DigestMismatch, match=problem):
        api.load_kernel(LOW, lockfile=path)
    assert api.get_loaded_kernels() == []


def test_questions_are_answered_offline_without_the_network(
    switchable: MemoryHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4."""
    api.install_kernel(TOY, version=1)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    switchable.calls.clear()
    assert api.has_kernel(TOY, version=1) is True
    assert [str(it.variant) for it in api.get_kernel_variants(TOY, version=1)] == ["torch-cpu"]
    assert api.install_kernel(TOY, version=1).is_dir()
    assert switchable.calls == []


# The old format also names the hash of each build's files.


def git_blob_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def old_lock(hub: MemoryHub, variants: dict[str, str]) -> list[dict[str, Any]]:
    hashes = {name: {"hash": it, "hash_type": "git_lfs_concat"} for name, it in variants.items()}
    return [
        {"repo_id": repo, "sha": hub.repos[repo].branches["v1"], "variants": hashes}
        for repo in (LOW,)
    ]


@pytest.fixture
def low_hash() -> str:
    build = kernel_files(value="low")
    return hash_variant([(path, git_blob_hash(content)) for path, content in build.items()])


def test_old_lock_is_honoured(hub: MemoryHub, tmp_path: Path, low_hash: str) -> None:
    path = write_lock(tmp_path / "old.lock", old_lock(hub, {"torch-cpu": low_hash}))
    assert api.get_locked_kernel(LOW, lockfile=path).VALUE == "low"


def test_old_lock_refuses_other_files(hub: MemoryHub, tmp_path: Path) -> None:
    wrong = "sha256-" + "0" * 64
    path = write_lock(tmp_path / "old.lock", old_lock(hub, {"torch-cpu": wrong}))
    with pytest.raises(DigestMismatch, match=f"the build's hash is sha256-.*, and {wrong} is lock"):
        api.get_locked_kernel(LOW, lockfile=path)
    assert api.get_loaded_kernels() == []


def test_old_lock_refuses_a_build_that_it_does_not_know(
    hub: MemoryHub, tmp_path: Path, low_hash: str
) -> None:
    path = write_lock(tmp_path / "old.lock", old_lock(hub, {"torch-rocm": low_hash}))
    with pytest.raises(LockfileError, match="No lock found for build variant: torch-cpu"):
        api.get_locked_kernel(LOW, lockfile=path)


def test_locked_hash_is_made_of_the_ids_that_the_blobs_are_named_after(tmp_path: Path) -> None:
    small, large = b"small", b"large"
    blobs = {git_blob_hash(small): small, hashlib.sha256(large).hexdigest(): large}
    write_files(tmp_path / "blobs", blobs)
    folder = tmp_path / "torch-cpu"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "__pycache__/x.pyc").write_bytes(b"not counted")
    for name, blob in zip(("a.py", "b.so"), blobs, strict=True):
        (folder / name).symlink_to(tmp_path / "blobs" / blob)
    expected = hash_variant(zip(("a.py", "b.so"), blobs, strict=True))
    locks.check_locked_hash(folder, expected)
    (tmp_path / "blobs" / git_blob_hash(small)).write_bytes(b"other")
    with pytest.raises(DigestMismatch, match="if the change is meant, lock the kernel again"):
        locks.check_locked_hash(folder, expected)


def test_locked_hash_of_copied_files_is_not_guessed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_files(tmp_path, {"a.py": b""})
    locks.check_locked_hash(tmp_path, "sha256-" + "0" * 64)
    assert "the cache does not tell how its files were hashed" in caplog.text


# The lock file of the calling package, as setuptools installs it with the package's metadata.


@pytest.fixture
def caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that loads a locked kernel."""
    source = (
        "from kernelmill.runtime.api import get_locked_kernel, load_kernel\n"
        "def load(): return get_locked_kernel('acme/toy', lockfile=None)\n"
    )
    write_files(tmp_path / "site/lock_user", {"__init__.py": b"", "inner.py": source.encode()})
    metadata = {
        "METADATA": b"Metadata-Version: 2.1\nName: lock-user\nVersion: 1\n",
        "RECORD": b"lock_user/__init__.py,,\nlock_user/inner.py,,\n",
        "top_level.txt": b"lock_user\n",
    }
    folder = write_files(tmp_path / "site/lock_user-1.dist-info", metadata)
    monkeypatch.syspath_prepend(tmp_path / "site")
    return folder


@pytest.fixture
def load_from_caller(caller: Path) -> Iterator[Callable[[], ModuleType]]:
    import lock_user.inner  # type: ignore[import-not-found]

    yield lock_user.inner.load
    for name in ("lock_user", "lock_user.inner"):
        sys.modules.pop(name, None)


def test_lock_file_of_the_calling_package_is_found(
    hub: MemoryHub, caller: Path, load_from_caller: Callable[[], ModuleType]
) -> None:
    write_lock(caller / "kernels.lock", lock(hub, TOY, LOW))
    assert load_from_caller().VALUE == ("toy", "low")


def test_calling_package_without_a_lock_file_is_named(
    hub: MemoryHub, load_from_caller: Callable[[], ModuleType]
) -> None:
    with pytest.raises(
        NotLocked,
        match=r"package 'lock_user': Could not find a `kernels.lock` file in the caller's package "
        r"metadata.\n  hint: give the file: lockfile=Path",
    ):
        load_from_caller()


def test_caller_that_is_no_package_is_told_to_give_the_file(hub: MemoryHub) -> None:
    with pytest.raises(NotLocked, match="package 'tests': Could not find"):
        api.load_kernel(TOY, lockfile=None)
