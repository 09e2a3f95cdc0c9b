"""Dependencies, locks and redirects against a real Hub, over HTTP on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from demo.hub import RunningHub, serving
from tests.unit.runtime.kernel_files import kernel_files, unload_kernels, write_files

from kernelmill.runtime import api
from kernelmill.runtime.cli import main
from kernelmill.runtime.errors import NotTrusted, Unresolved
from kernelmill.runtime.hub.publisher import RemotePublisher
from kernelmill.spec import status as status_format
from kernelmill.spec.errors import DigestMismatch
from kernelmill.spec.lockfile import hash_variant
from kernelmill.spec.metadata import KernelDependency
from kernelmill.spec.names import RepoId
from kernelmill.spec.status import Redirect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

USER = (
    "from kernelmill.runtime.api import get_kernel_dep\n"
    "VALUE = ['top', get_kernel_dep('acme/low').VALUE]\n"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with serving(tmp_path_factory.mktemp("hub"), "--trust", "acme") as running:
        running.run("org", "create", "stranger")
        yield running


@pytest.fixture
def client(
    server: RunningHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.MonkeyPatch]:
    for name in [each for each in os.environ if each.startswith(("HF_", "KERNELS_", "LOCAL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KERNELS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", server.token)
    yield monkeypatch
    unload_kernels()


class Upload:
    """Uploads tiny kernels with the command, and other files with a commit."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    def __call__(self, repo: str, build: Mapping[str, bytes], version: int = 1) -> str:
        """Upload a build and return the commit of its version."""
        root = self.folder / f"{repo.replace('/', '-')}-{len(list(self.folder.iterdir()))}"
        write_files(root / "build/torch-cpu", build)
        write_files(root, {"CARD.md": b"---\nlicense: apache-2.0\n---\n# A toy\n"})
        assert main(["upload", str(root), "--repo-id", repo]) == 0
        return self._publisher(repo).fetch_branches()[f"v{version}"]

    def move(self, repo: str, destination: str) -> None:
        """Take the builds away and say where they are."""
        publisher = self._publisher(repo)
        parent = publisher.fetch_branches()["v1"]
        status = Redirect(destination=RepoId.parse(destination), revision="v1")
        text = status_format.dumps(status).encode()
        files = write_files(self.folder / f"status-{repo[-5:]}", {status_format.FILE_NAME: text})
        publisher.commit(
            "v1",
            parent=parent,
            additions={status_format.FILE_NAME: files / status_format.FILE_NAME},
            deletions=publisher.fetch_paths(parent, "build"),
            message="move",
        )

    def _publisher(self, repo: str) -> RemotePublisher:
        return RemotePublisher(self.url, RepoId.parse(repo), "kernel")


@pytest.fixture
def upload(server: RunningHub, client: pytest.MonkeyPatch, tmp_path: Path) -> Upload:
    (tmp_path / "uploads").mkdir()
    return Upload(tmp_path / "uploads", server.url)


def needs(*repos: str) -> tuple[KernelDependency, ...]:
    return tuple(KernelDependency(repo_id=RepoId.parse(repo), version=1) for repo in repos)


def user_of_low() -> dict[str, bytes]:
    return kernel_files(sources={"__init__.py": USER}, kernel_depends=needs("acme/low"))


@pytest.fixture
def pair(upload: Upload) -> dict[str, str]:
    """The commits of ``acme/low`` and of ``acme/top``, which needs it."""
    return {
        "acme/low": upload("acme/low", kernel_files(value="low")),
        "acme/top": upload("acme/top", user_of_low()),
    }


def write_lock(path: Path, commits: Mapping[str, str]) -> Path:
    entries = [
        {"dependency": {"repo-id": repo, "version": 1}, "lock": {"commit": commit}}
        for repo, commit in commits.items()
    ]
    path.write_text(json.dumps(entries))
    return path


def test_dependency_tree_loads_and_loads_again_offline(
    pair: dict[str, str], client: pytest.MonkeyPatch
) -> None:
    module = api.get_kernel("acme/top", version=1)
    assert module.VALUE == ["top", "low"]
    origins = {it.repo_info.repo_id: it.repo_info.revision for it in api.get_loaded_kernels()
               if it.repo_info}  # fmt: skip
    assert origins == pair
    unload_kernels()
    client.setenv("HF_HUB_OFFLINE", "1")
    assert api.get_kernel("acme/top", version=1).VALUE == ["top", "low"]
    assert api.has_kernel("acme/top", version=1)


def test_dependency_that_is_missing_or_untrusted_is_named(upload: Upload) -> None:
    upload("acme/broken", kernel_files(value="broken", kernel_depends=needs("acme/nowhere")))
    with pytest.raises(Unresolved, match=r"Could not resolve kernel: acme/nowhere \(version: 1\)"):
        api.get_kernel("acme/broken", version=1)
    upload("stranger/low", kernel_files(value="strange"))
    upload("acme/bold", kernel_files(value="bold", kernel_depends=needs("stranger/low")))
    with pytest.raises(NotTrusted, match="'stranger/low' is not from a trusted publisher"):
        api.get_kernel("acme/bold", version=1)
    assert api.get_kernel("acme/bold", version=1, trust_remote_code=["stranger/low"])


def test_locked_kernels_stay_where_they_are(
    upload: Upload, pair: dict[str, str], tmp_path: Path, client: pytest.MonkeyPatch
) -> None:
    lockfile = write_lock(tmp_path / "kernels.lock", pair)
    upload("acme/low", kernel_files(value="moved on"))
    assert api.get_locked_kernel("acme/top", lockfile=lockfile).VALUE == ["top", "low"]
    unload_kernels()
    client.setenv("HF_ENDPOINT", os.environ["HF_ENDPOINT"])
    assert api.load_kernel("acme/top", lockfile=lockfile).VALUE == ["top", "low"]


def test_old_lock_file_is_honoured_with_its_hash(upload: Upload, tmp_path: Path) -> None:
    build = kernel_files(value="hashed", binaries={"data.so": b"\x7fELF" + bytes(1000)})
    commit = upload("acme/hashed", build)
    folder = api.install_kernel("acme/hashed", version=1)
    # The names of the blobs are what the Hub says of the files: git's ids, or SHA-256 for LFS.
    ids = {path.name: path.resolve().name for path in folder.iterdir()}
    assert sorted(map(len, ids.values())) in ([40, 40, 40], [40, 40, 64])
    for digest, error in ((hash_variant(ids.items()), None), ("sha256-" + "0" * 64, True)):
        variants = {"torch-cpu": {"hash": digest, "hash_type": "git_lfs_concat"}}
        path = tmp_path / "old.lock"
        path.write_text(
            json.dumps([{"repo_id": "acme/hashed", "sha": commit, "variants": variants}])
        )
        if error:
            with pytest.raises(DigestMismatch, match="is locked"):
                api.get_locked_kernel("acme/hashed", lockfile=path)
        else:
            assert api.get_locked_kernel("acme/hashed", lockfile=path).VALUE == "hashed"


def test_redirect_is_followed_to_a_trusted_owner_alone(
    upload: Upload, client: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R7."""
    upload("acme/old", kernel_files(value="old"))
    commit = upload("acme/new", kernel_files(value="new"))
    upload.move("acme/old", "acme/new")
    assert api.get_kernel("acme/old", version=1).VALUE == "new"
    (loaded,) = api.get_loaded_kernels()
    assert loaded.repo_info == api.RepoInfo(repo_id="acme/new", revision=commit)
    capsys.readouterr()
    assert main(["explain", "acme/old", "--version", "1"]) == 0
    assert "acme/old -> acme/new" in capsys.readouterr().out

    upload("acme/lured", kernel_files(value="lured"))
    upload("stranger/evil", kernel_files(value="evil"))
    upload.move("acme/lured", "stranger/evil")
    with pytest.raises(NotTrusted, match="'stranger/evil' is not from a trusted publisher"):
        api.get_kernel("acme/lured", version=1)
    assert api.get_kernel("acme/lured", version=1, trust_remote_code=["stranger/evil"])

    unload_kernels()
    client.setenv("HF_HUB_OFFLINE", "1")
    assert api.get_kernel("acme/old", version=1).VALUE == "new"


def test_processes_that_load_trees_at_once_all_succeed(pair: dict[str, str]) -> None:
    script = (
        "from kernelmill.runtime import api; print(api.get_kernel('acme/top', version=1).VALUE)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [each.communicate(timeout=120)[0] for each in running]
    assert outputs == ["['top', 'low']\n"] * 3
