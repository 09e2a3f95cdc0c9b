"""Loading and publishing against a real Hub, over HTTP on loopback."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from demo.hub import RunningHub, serving
from tests.unit.runtime.kernel_files import kernel_files, unload_kernels, write_files

import kernels
from kernelmill.runtime.cli import main
from kernelmill.runtime.errors import (
    HubUnreachable,
    NotTrusted,
    RepositoryNotFound,
    RevisionNotFound,
    UnpinnedKernelWarning,
    VersionNotFound,
)
from kernelmill.runtime.hub.publisher import RemotePublisher
from kernelmill.runtime.settings import read_settings
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import DigestMismatch, HubError
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def make_repository(folder: Path, build: Mapping[str, bytes]) -> Path:
    write_files(folder / "build/torch-cpu", build)
    card = b"---\nlicense: apache-2.0\n---\n# A toy\n"
    return write_files(folder, {"CARD.md": card, "benchmarks/benchmark.py": b"pass\n"})


@pytest.fixture
def upload(client: pytest.MonkeyPatch, tmp_path: Path) -> Upload:
    return Upload(tmp_path)


class Upload:
    """Uploads tiny kernels with the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self,
        repo: str,
        *arguments: str,
        value: object = 1,
        version: int = 1,
        sources: Mapping[str, str] | None = None,
    ) -> int:
        count = len(list(self.folder.glob("repository*")))
        build = kernel_files(value=value, version=version, sources=sources)
        folder = make_repository(self.folder / f"repository{count}", build)
        return main(["upload", str(folder), "--repo-id", repo, *arguments])


def test_uploaded_kernel_loads_by_name(
    server: RunningHub, upload: Upload, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upload("acme/first", value=1) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{server.url}/kernels/acme/first/tree/v1\n"
    assert re.search(r"uploading 3 files \([0-9.]+ (bytes|kB)\) to acme/first v1", printed.err)
    with pytest.warns(UnpinnedKernelWarning, match="version=1"):
        kernel = kernels.get_kernel("acme/first")
    assert (kernel.VALUE, kernel.double(4)) == (1, 8)
    assert kernels.has_kernel("acme/first", version=1)
    (loaded,) = kernels.get_loaded_kernels()
    assert loaded.repo_info is not None
    assert kernels.get_kernel("acme/first", revision=loaded.repo_info.revision) is kernel
    assert kernels.get_kernel("acme/first", revision="v1") is kernel


def test_second_upload_replaces_the_build_and_keeps_the_card(
    upload: Upload, capsys: pytest.CaptureFixture[str]
) -> None:
    upload("acme/twice", sources={"old.py": ""})
    upload("acme/twice", value=2)
    kernel = kernels.get_kernel("acme/twice", version=1)
    assert kernel.VALUE == 2
    publisher = RemotePublisher(os.environ["HF_ENDPOINT"], RepoId.parse("acme/twice"), "kernel")
    branches = publisher.fetch_branches()
    assert sorted(publisher.fetch_paths(branches["v1"], "build")) == [
        "build/torch-cpu/__init__.py",
        "build/torch-cpu/metadata.json",
    ]
    capsys.readouterr()
    upload("acme/twice", value=2)
    assert publisher.fetch_branches() == branches, "the same files make no commit"
    assert "no changes: the Hub holds these very files already" in capsys.readouterr().err
    upload("acme/twice", "--json", value=2)
    assert json.loads(capsys.readouterr().out)["status"] == "no_changes"
    upload("acme/twice", "--json", value=3)
    assert json.loads(capsys.readouterr().out)["status"] == "uploaded"


def test_upload_fails_when_somebody_else_uploaded_meanwhile(upload: Upload) -> None:
    upload("acme/race")
    publisher = RemotePublisher(os.environ["HF_ENDPOINT"], RepoId.parse("acme/race"), "kernel")
    before = publisher.fetch_branches()["v1"]
    upload("acme/race", value=2)
    with pytest.raises(HubError, match="'v1' of 'acme/race' changed during the upload"):
        publisher.commit(
            "v1",
            parent=before,
            additions={"new": upload.folder / "repository0/CARD.md"},
            deletions=(),
            message="late",
        )


def test_versions_live_side_by_side(upload: Upload, capsys: pytest.CaptureFixture[str]) -> None:
    upload("acme/many", value=1, version=1)
    upload("acme/many", value=2, version=2)
    assert [kernels.get_kernel("acme/many", version=v).VALUE for v in (1, 2)] == [1, 2]
    with pytest.raises(VersionNotFound, match="Version 3 not found, available versions: 1, 2"):
        kernels.get_kernel("acme/many", version=3)
    capsys.readouterr()
    assert main(["versions", "acme/many", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(each["version"], each["chosen"]) for each in listed["versions"]] == [
        (2, "torch-cpu"),
        (1, "torch-cpu"),
    ]


def test_untrusted_publisher_is_refused(server: RunningHub, upload: Upload) -> None:
    server.run("org", "create", "stranger")
    upload("stranger/toy")
    with pytest.raises(NotTrusted, match="is not from a trusted publisher"):
        kernels.get_kernel("stranger/toy", version=1)
    assert kernels.get_kernel("stranger/toy", version=1, trust_remote_code=True).VALUE == 1


def test_unknown_publisher_is_refused(client: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotTrusted, match="the Hub knows no organization 'nobody'"):
        kernels.get_kernel("nobody/toy", version=1)


def test_missing_repository_is_named(client: pytest.MonkeyPatch) -> None:
    with pytest.raises(RepositoryNotFound, match="no kernel repository 'acme/missing'"):
        kernels.get_kernel("acme/missing", version=1)
    client.delenv("HF_TOKEN")
    with pytest.raises(RepositoryNotFound, match="for a private repository set HF_TOKEN"):
        kernels.get_kernel("acme/missing", version=1)


def test_private_repository_looks_missing_without_a_token(
    upload: Upload, client: pytest.MonkeyPatch
) -> None:
    upload("acme/private", "--private")
    assert kernels.has_kernel("acme/private", version=1)
    client.delenv("HF_TOKEN")
    with pytest.raises(RepositoryNotFound, match="no kernel repository 'acme/private'"):
        kernels.get_kernel("acme/private", version=1)


def test_missing_revision_is_named(upload: Upload) -> None:
    upload("acme/revision")
    with pytest.raises(RevisionNotFound, match="'acme/revision' has no revision 'nightly'"):
        kernels.get_kernel("acme/revision", revision="nightly")


def test_changed_file_in_the_cache_is_refused(upload: Upload, tmp_path: Path) -> None:
    upload("acme/tampered")
    kernels.get_kernel("acme/tampered", version=1)
    unload_kernels()
    (path,) = (tmp_path / "cache").rglob("snapshots/*/build/torch-cpu/__init__.py")
    path.resolve().write_text("VALUE = 'evil'\n")
    with pytest.raises(
        DigestMismatch, match=r"File hash mismatch for build/torch-cpu/__init__\.py"
    ):
        kernels.get_kernel("acme/tampered", version=1)


def test_offline_loads_what_is_cached(upload: Upload, client: pytest.MonkeyPatch) -> None:
    upload("acme/offline")
    module = kernels.get_kernel("acme/offline", version=1)
    client.setenv("HF_HUB_OFFLINE", "1")
    assert kernels.get_kernel("acme/offline", version=1) is module
    assert kernels.has_kernel("acme/offline", version=1)
    with pytest.raises(VersionNotFound, match="not available in the local cache"):
        kernels.get_kernel("acme/offline", version=2)


def test_another_hub_is_not_served_from_the_cache(
    server: RunningHub, upload: Upload, client: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    upload("acme/same", value="first hub")
    assert kernels.get_kernel("acme/same", version=1).VALUE == "first hub"
    with serving(tmp_path / "other", "--trust", "acme") as other:
        client.setenv("HF_ENDPOINT", other.url)
        client.setenv("HF_TOKEN", other.token)
        with pytest.raises(RepositoryNotFound):
            kernels.get_kernel("acme/same", version=1)
        upload("acme/same", value="second hub")
        assert kernels.get_kernel("acme/same", version=1).VALUE == "second hub"
    client.setenv("HF_HUB_OFFLINE", "1")
    assert kernels.get_kernel("acme/same", version=1).VALUE == "second hub"
    client.setenv("HF_ENDPOINT", server.url)
    assert kernels.get_kernel("acme/same", version=1).VALUE == "first hub"


def test_processes_that_load_at_once_download_once(upload: Upload, tmp_path: Path) -> None:
    upload("acme/parallel", sources={f"part{number}.py": "" for number in range(20)})
    script = "import kernels; print(kernels.get_kernel('acme/parallel', version=1).VALUE)"
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [each.communicate(timeout=90)[0] for each in running] == ["1\n"] * 2
    assert list((tmp_path / "cache").rglob("*.incomplete")) == []


def test_explain_and_info_describe_a_kernel(
    server: RunningHub, upload: Upload, capsys: pytest.CaptureFixture[str]
) -> None:
    upload("acme/explained")
    capsys.readouterr()
    assert main(["explain", "acme/explained", "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert (explained["endpoint"], explained["chosen"]) == (server.url, "torch-cpu")
    assert explained["trust"] == {"is_trusted": True, "reason": ""}
    assert explained["revision"]["version"] == 1
    assert explained["is_cached"] is False
    kernels.get_kernel("acme/explained", version=1)
    assert main(["explain", "acme/explained", "--version", "1"]) == 0
    text = capsys.readouterr().out
    assert f"repository  acme/explained on {server.url}" in text
    assert str(read_settings().cache_dir) in text
    assert main(["info", "acme/explained", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["backends"] == ["cpu"]


def test_explain_exits_with_1_when_nothing_fits(
    upload: Upload, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_files(
        tmp_path / "unfit/build/torch-tpu", kernel_files(backend=Backend.TPU)
    ).parents[1]
    assert main(["upload", str(folder), "--repo-id", "acme/unfit"]) == 0
    capsys.readouterr()
    assert main(["explain", "acme/unfit"]) == 1
    assert "torch-tpu  no    backend (tpu) does not match" in capsys.readouterr().out


@pytest.mark.parametrize(
    "token", [pytest.param("hf_wrong", id="wrong-token"), pytest.param("", id="no-token")]
)
def test_upload_is_refused_without_rights(
    upload: Upload, client: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], token: str
) -> None:
    client.setenv("HF_TOKEN", token)
    assert upload("acme/refused") == 4
    error = capsys.readouterr().err
    assert "set HF_TOKEN to a token with the right to do this" in error
    assert "Traceback" not in error


def test_upload_leaves_the_advice_to_a_hub_that_gives_its_own(
    upload: Upload, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upload("nowhere/toy") == 4
    error = capsys.readouterr().err
    assert "kernel-hub org create" in error
    assert "HF_TOKEN" not in error


def test_upload_gives_no_advice_about_the_cache_when_offline(
    upload: Upload, client: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert upload("acme/offline") == 4
    error = capsys.readouterr().err
    assert "hint: unset HF_HUB_OFFLINE, and check HF_ENDPOINT" in error
    assert "cache" not in error


def test_upload_names_a_card_that_the_hub_rejects(
    client: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_repository(tmp_path / "carded", kernel_files())
    (folder / "CARD.md").write_text("---\nlicense: [unclosed\n---\n")
    assert main(["upload", str(folder), "--repo-id", "acme/carded"]) == 4
    assert "the upload is not acceptable: Invalid metadata in README.md." in capsys.readouterr().err
    with pytest.raises(VersionNotFound, match="available versions: none"):
        kernels.get_kernel("acme/carded", version=1)


def test_upload_is_refused_with_a_token_that_may_only_read(
    server: RunningHub,
    upload: Upload,
    client: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    token = server.run("token", "create", "--user", "admin", "--role", "read").splitlines()[-1]
    client.setenv("HF_TOKEN", token.split()[-1])
    assert upload("acme/refused") == 4
    assert "the Hub refuses" in capsys.readouterr().err


def test_hub_that_went_down_is_remembered(
    upload: Upload,
    client: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving(tmp_path / "brief", "--trust", "acme") as brief:
        client.setenv("HF_ENDPOINT", brief.url)
        client.setenv("HF_TOKEN", brief.token)
        upload("acme/brief")
        kernels.get_kernel("acme/brief", version=1)
    unload_kernels()
    caplog.clear()
    assert kernels.get_kernel("acme/brief", version=1).VALUE == 1
    assert "WARNING" not in caplog.text, "what it said a moment ago is fresh"
    unload_kernels()
    client.setenv("KERNELS_REVALIDATE", "always")
    assert kernels.get_kernel("acme/brief", version=1).VALUE == 1
    (warning,) = [it.message for it in caplog.records if it.levelname == "WARNING"]
    assert warning.endswith("using what was fetched from it before")
    capsys.readouterr()
    assert main(["explain", "acme/brief", "--version", "1"]) == 0
    assert "would load  torch-cpu" in capsys.readouterr().out


def test_hub_that_is_down_is_named(
    upload: Upload, client: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"
    client.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(HubUnreachable, match=f"{endpoint}: the Hub does not answer"):
        kernels.get_kernel("acme/first", version=1)
    assert upload("acme/first") == 4
    assert f"kernels: {endpoint}: the Hub does not answer" in capsys.readouterr().err
    assert main(["explain", "acme/first"]) == 4
