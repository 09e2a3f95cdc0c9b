from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, oid_of

from kernelmill.runtime import probe
from kernelmill.runtime.cli import main
from kernelmill.runtime.cli.download import exit_status
from kernelmill.runtime.errors import NotTrusted
from kernelmill.runtime.hub import RemoteFile, opening
from kernelmill.runtime.locking_download import (
    Downloaded,
    Downloader,
    ensure_locked_hash,
    select_all,
    select_for,
)
from kernelmill.spec.errors import DigestMismatch, HubError, NoVariant
from kernelmill.spec.lockfile import LockedKernel, hash_variant
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.spec.host import Host

BUILDS = {"torch-cpu": kernel_files(), "torch-cuda": kernel_files(value=2)}


def locked(repo: str, commit: str) -> LockedKernel:
    return LockedKernel(repo_id=RepoId.parse(repo), version=1, commit=commit)


def test_download_fetches_the_build_of_the_locked_commit(
    hub: MemoryHub, cache: Cache, host: Host
) -> None:
    """K1: the commit of the lock, while the branch has moved on."""
    first = hub.publish("acme/toy", "v1", BUILDS)
    hub.publish("acme/toy", "v1", {"torch-cpu": kernel_files(value=9)})
    downloader = Downloader(hub=hub, cache=cache, select=select_for(host))
    (folder,) = downloader.download(locked("acme/toy", first))
    assert (folder.name, folder.parents[1].name) == ("torch-cpu", first)
    assert "VALUE = 1" in (folder / "__init__.py").read_text()


def test_download_of_all_variants_skips_what_is_not_understood(
    hub: MemoryHub, cache: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    commit = hub.publish("acme/toy", "v1", {**BUILDS, "torch-of-the-future-9": {"x": b""}})
    downloader = Downloader(hub=hub, cache=cache, select=select_all)
    folders = downloader.download(locked("acme/toy", commit))
    assert [it.name for it in folders] == ["torch-cpu", "torch-cuda"]
    assert "torch-of-the-future-9 of 'acme/toy' is not understood" in caplog.text


def test_download_asks_for_trust_first(hub: MemoryHub, cache: Cache, host: Host) -> None:
    """Defect 8 of the peer: its download asks nobody."""
    commit = hub.publish("stranger/toy", "v1", BUILDS)
    kernel = locked("stranger/toy", commit)
    with pytest.raises(NotTrusted, match="is not from a trusted publisher"):
        Downloader(hub=hub, cache=cache, select=select_all).download(kernel)
    assert hub.calls == ["trust"]
    allowed = Downloader(hub=hub, cache=cache, select=select_all, trust=["stranger/toy"])
    assert len(allowed.download(kernel)) == 2


def test_download_refuses_a_build_that_is_not_what_was_published(
    hub: MemoryHub, cache: Cache, host: Host
) -> None:
    """K4: a changed file is found when it arrives."""
    files = kernel_files() | {"__init__.py": b"VALUE = 'evil'"}
    commit = hub.publish("acme/toy", "v1", {"torch-cpu": files})
    downloader = Downloader(hub=hub, cache=cache, select=select_for(host))
    with pytest.raises(DigestMismatch, match=r"File hash mismatch for __init__\.py"):
        downloader.download(locked("acme/toy", commit))


def test_old_lock_compares_the_hubs_ids() -> None:
    listing = (
        RemoteFile(path="build/torch-cpu/a.py", size_bytes=1, oid="ab" * 20),
        RemoteFile(path="build/torch-cpu/b.so", size_bytes=1, oid="cd" * 20, sha256="ef" * 32),
    )
    expected = hash_variant([("a.py", "ab" * 20), ("b.so", "ef" * 32)])
    ensure_locked_hash(listing, "build/torch-cpu", expected)
    with pytest.raises(DigestMismatch, match="build/torch-cpu is not what was locked: expected"):
        ensure_locked_hash(listing[:1], "build/torch-cpu", expected)
    nameless = (RemoteFile(path="build/torch-cpu/a.py", size_bytes=1),)
    ensure_locked_hash(nameless, "build/torch-cpu", expected)


def test_old_lock_without_a_hash_for_a_build_is_told(
    hub: MemoryHub, cache: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    """R13: the old format has hashes for some builds alone, and loading by it refuses others."""
    commit = hub.publish("acme/toy", "v1", {"tvm-ffi01-cpu-x86_64-linux": kernel_files()})
    kernel = LockedKernel(
        repo_id=RepoId.parse("acme/toy"),
        commit=commit,
        variant_hashes={"torch-cpu": f"sha256-{'0' * 64}"},
    )
    Downloader(hub=hub, cache=cache, select=select_all).download(kernel)
    assert "no hash for tvm-ffi01-cpu-x86_64-linux of 'acme/toy'" in caplog.text


@pytest.mark.parametrize(
    ("errors", "status"),
    [
        pytest.param([None, None], 0, id="all-here"),
        pytest.param([NoVariant("x"), None], 1, id="no-build"),
        pytest.param([HubError("x"), HubError("y")], 4, id="hub"),
        pytest.param([HubError("x"), NoVariant("y")], 1, id="several-reasons"),
    ],
)
def test_exit_status_is_the_reason(errors: list[NoVariant | HubError | None], status: int) -> None:
    kernel = locked("acme/toy", "1" * 40)
    assert exit_status([Downloaded(kernel=kernel, error=it) for it in errors]) == status


@pytest.fixture
def project(tmp_path: Path, hub: MemoryHub, host: Host, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(opening, "open_hub", lambda *_, **__: hub)
    monkeypatch.setattr(probe, "probe_host", lambda: host)
    return tmp_path


def test_download_command_goes_on_after_a_failure(
    hub: MemoryHub, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = hub.publish("acme/toy", "v1", BUILDS)
    unfit = hub.publish("acme/a-cuda-only", "v1", {"torch-cuda": kernel_files()})
    entries = [
        {"dependency": {"repo-id": repo, "version": 1}, "lock": {"commit": sha}}
        for repo, sha in (("acme/a-cuda-only", unfit), ("acme/toy", commit))
    ]
    (project / "kernels.lock").write_text(json.dumps(entries))
    assert main(["download", str(project), "--json"]) == 1
    printed = capsys.readouterr()
    assert f"Downloading kernel: acme/a-cuda-only (revision: {unfit})\n" in printed.err
    assert f"Downloading kernel: acme/toy (revision: {commit})\n  torch-cpu: 2 files" in printed.err
    assert "Cannot find a build variant for this system in acme/a-cuda-only" in printed.err
    document = json.loads(printed.out)
    assert document["version"] == 1
    assert [it["repo_id"] for it in document["kernels"]] == ["acme/a-cuda-only", "acme/toy"]
    assert document["kernels"][1]["builds"][0]["variant"] == "torch-cpu"
    assert document["kernels"][1]["error"] is None


def test_download_command_without_a_lock_file_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["download", str(project)]) == 1
    assert f"No kernels.lock file found in: {project}" in capsys.readouterr().err


def test_download_command_reads_the_old_format(
    hub: MemoryHub, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = hub.publish("acme/toy", "v1", BUILDS)
    right = hash_variant([(name, oid_of(it)) for name, it in BUILDS["torch-cpu"].items()])
    wrong = f"sha256-{'0' * 64}"
    for digest, status, message in (
        (wrong, 1, f"build/torch-cpu is not what was locked: expected {wrong}, got {right}"),
        (right, 0, "  torch-cpu: 2 files"),
    ):
        variants = {"torch-cpu": {"hash": digest, "hash_type": "git_lfs_concat"}}
        old = [{"repo_id": "acme/toy", "sha": commit, "variants": variants}]
        (project / "kernels.lock").write_text(json.dumps(old))
        assert main(["download", str(project)]) == status
        assert message in capsys.readouterr().err
