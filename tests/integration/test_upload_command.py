"""Uploads with `kernel-builder`: what is refused, what is sent, what a kill leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest

from kernelmill.builder import publishing
from kernelmill.builder.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from demo.hub import RunningHub

MANIFEST = """\
[general]
name = "toy"
version = 1
edition = 5
license = "MIT"
backends = ["cpu"]
[general.hub]
repo-id = "acme/toy"
[torch-noarch]
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python-only kernel that is built, and a Hub that nobody may ask."""
    package = tmp_path / "torch-ext/toy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__all__ = ["double"]\n')
    (tmp_path / "build.toml").write_text(MANIFEST)
    assert main(["build", str(tmp_path)]) == 0
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nothing listens there
    return tmp_path


def no_metadata(kernel: Path) -> str:
    (kernel / "build/torch-other").mkdir()
    (kernel / "build/torch-other/__init__.py").touch()
    return "build/torch-other: no metadata.json"


def nothing_there(kernel: Path) -> str:
    (kernel / "build/torch-cpu").rename(kernel / "elsewhere")
    return "no build variants here"


def bad_name(kernel: Path) -> str:
    (kernel / "build/torch-cpu").rename(kernel / "build/my-build")
    return "'my-build' is not the name of a build variant"


def empty(kernel: Path) -> str:
    (kernel / "build/torch-rocm").mkdir()
    return "build/torch-rocm: the folder is empty"


def bytecode(kernel: Path) -> str:
    (kernel / "build/torch-cpu/__pycache__").mkdir()
    (kernel / "build/torch-cpu/__pycache__/x.cpython-311.pyc").touch()
    return "bytecode, __pycache__/x.cpython-311.pyc"


def link_outside(kernel: Path) -> str:
    (kernel / "build/torch-cpu/other.txt").symlink_to("/etc/hostname")
    return "other.txt"


def changed(kernel: Path) -> str:
    (kernel / "build/torch-cpu/__init__.py").write_text("x = 1\n")
    return "File hash mismatch for __init__.py"


def mixed_versions(kernel: Path) -> str:
    metadata = kernel / "build/torch-cpu/metadata.json"
    other = kernel / "build/torch-rocm"
    other.mkdir()
    text = metadata.read_text().replace('"version": 1', '"version": 2')
    (other / "metadata.json").write_text(text.replace('"type": "cpu"', '"type": "rocm"'))
    (other / "__init__.py").write_text('__all__ = ["double"]\n')
    (other / "_ops.py").write_bytes((kernel / "build/torch-cpu/_ops.py").read_bytes())
    # Alone, as somebody gets them who has the builds and not the sources.
    (kernel / "build.toml").unlink()
    return "build variants have different versions: 1, 2"


def no_owner(kernel: Path) -> str:
    """H2: nobody's organisation is a default."""
    text = (kernel / "build.toml").read_text().replace('repo-id = "acme/toy"', "")
    (kernel / "build.toml").write_text(text)
    assert main(["build", str(kernel)]) == 0
    return "no repository to upload to"


def bad_owner(kernel: Path) -> str:
    (kernel / "build.toml").write_text(MANIFEST.replace("acme/toy", "acme"))
    return "'acme'"


@pytest.mark.parametrize(
    "spoil",
    [
        no_metadata,
        nothing_there,
        bad_name,
        empty,
        bytecode,
        link_outside,
        changed,
        mixed_versions,
        no_owner,
        bad_owner,
    ],
)
def test_h5_a_wrong_layout_is_refused_before_anything_is_sent(
    kernel: Path, spoil: Callable[[Path], str], capfd: pytest.CaptureFixture[str]
) -> None:
    """The Hub's address answers nobody: asking it would be another error, with status 4."""
    expected = spoil(kernel)
    status = main(["upload", str(kernel)])
    said = capfd.readouterr().err
    assert expected in said
    assert status in {1, 2}
    assert "does not answer" not in said


def test_a_right_layout_is_sent(kernel: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What the refusals above are compared with."""
    assert main(["upload", str(kernel)]) == 4
    assert "the Hub does not answer" in capfd.readouterr().err


def test_a_dry_run_asks_nobody(kernel: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """H1: version 1 goes to v1 unless told otherwise; the plan says so before anything is sent."""
    assert main(["upload", str(kernel), "--dry-run"]) == 0
    assert "v1      build/torch-cpu/metadata.json" in capfd.readouterr().out
    assert main(["upload", str(kernel), "--dry-run", "--json", "--branch", "next"]) == 0
    assert json.loads(capfd.readouterr().out)["branch"] == "next"


def test_uncommitted_sources_are_named(kernel: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = kernel / "build/torch-cpu/metadata.json"
    document = json.loads(path.read_text())
    document["provenance"]["kernel"] = {"commit": "a" * 40, "dirty": True}
    path.write_text(json.dumps(document))
    assert publishing.find_dirty(kernel / "build") == ("torch-cpu",)
    main(["upload", str(kernel), "--dry-run"])
    assert (
        "warning: torch-cpu was built from sources that no commit holds" in capfd.readouterr().err
    )


def test_a_pull_request_is_refused_in_one_line(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["upload", str(kernel), "--create-pr"]) == 2
    assert "--create-pr: uploads are commits to a branch" in capsys.readouterr().err


def test_builds_of_nix_are_copied_as_plain_files(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = kernel / "store"
    (kernel / "build").rename(store)
    for path in store.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    (kernel / "result").symlink_to(store)
    old = kernel / "build/torch-cpu"
    old.mkdir(parents=True)
    (old / "stale.py").touch()
    assert main(["build-and-copy", str(kernel), "--from", str(kernel / "result")]) == 0
    assert capsys.readouterr().out == f"{kernel}/build/torch-cpu\n"
    assert not (old / "stale.py").exists()
    assert os.access(old / "metadata.json", os.W_OK)
    assert not (old / "metadata.json").is_symlink()
    assert main(["check-builds", str(kernel / "build")]) == 0


def test_build_and_upload_sends_nothing_when_a_build_fails(
    kernel: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelmill.builder.cli.build.run", lambda _: 1)
    assert main(["build-and-upload", str(kernel)]) == 1
    assert "nothing was uploaded" in capfd.readouterr().err


# A process that is killed while its second batch is on the way.
KILLED: Final = """
import os, signal, sys, threading
from kernelmill.runtime import publish
from kernelmill.runtime.cli import main
from kernelmill.runtime.hub.publisher import RemotePublisher

publish.BATCH_BYTES = 3_000_000
commit, calls = RemotePublisher.commit, []

def dying(*args, **kwargs):
    calls.append(args)
    if len(calls) == 3:  # the card, the first batch, this one
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return commit(*args, **kwargs)

RemotePublisher.commit = dying
main(sys.argv[1:])
"""


@pytest.fixture
def published(
    kernel: Path, server: RunningHub, client: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The same kernel with a card, a benchmark and large files, beside a Hub that listens."""
    for number in range(4):
        content = bytes(range(256)) * (10_000 + number)
        (kernel / f"torch-ext/toy/part{number}.bin").write_bytes(content)
    manifest = MANIFEST.replace("[torch-noarch]", '[torch-noarch]\npyext = ["py", "bin"]')
    (kernel / "build.toml").write_text(manifest)
    (kernel / "CARD.md").write_text("# {{ repo_id }} {{ version }}\n")
    (kernel / "benchmarks").mkdir()
    (kernel / "benchmarks/benchmark.py").write_text("")
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    assert main(["build", str(kernel)]) == 0
    return kernel


def branches_of(server: RunningHub, repo: str) -> dict[str, str]:
    from huggingface_hub import HfApi

    api = HfApi(endpoint=server.url, token=server.token)
    refs = api.list_repo_refs(repo, repo_type="kernel")
    return {it.name: it.target_commit for it in refs.branches}


def files_of(server: RunningHub, repo: str, revision: str) -> list[str]:
    from huggingface_hub import HfApi

    api = HfApi(endpoint=server.url, token=server.token)
    return api.list_repo_files(repo, revision=revision, repo_type="kernel")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What huggingface_hub sends with each commit, as it is sent."""
    from huggingface_hub import _commit_api

    batches: list[list[str]] = []
    send: Callable[..., object] = _commit_api._send_commit

    def spying(*, operations: list[Any], **rest: object) -> object:
        batches.append(sorted(it.path_in_repo for it in operations))
        return send(operations=operations, **rest)

    monkeypatch.setattr(_commit_api, "_send_commit", spying)
    return batches


def test_a_killed_upload_goes_on_and_readers_never_see_a_part(
    published: Path,
    server: RunningHub,
    sent: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The client is the real one, killed while its second batch is on the way."""
    from kernelmill.runtime import publish
    from kernelmill.runtime.cli import main as kernels

    words = ["upload", str(published), "--repo-id", "acme/killed"]
    (published / "CARD.md").rename(published / "build/CARD.md")
    (published / "build/CARD.md").write_text("# toy\n")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *words], capture_output=True, text=True, check=False
    )
    assert killed.returncode == -9, killed.stderr
    left = branches_of(server, "acme/killed")
    (staging,) = set(left) - {"main"}
    assert staging.startswith("v1-upload-")
    there = {it for it in files_of(server, "acme/killed", staging) if it.startswith("build/")}
    assert there
    assert "build/torch-cpu/metadata.json" not in there

    monkeypatch.setattr(publish, "BATCH_BYTES", 3_000_000)
    capsys.readouterr()
    assert kernels(words) == 0
    said = capsys.readouterr().err
    assert f"going on with an upload that was interrupted, on {staging}\n" in said
    assert "part 1 of 4\n  these very files were there already\n" in said
    assert "No files have been modified" not in said
    again = {path for batch in sent for path in batch}
    assert not again & there, "what the Hub has is not sent again"
    assert "build/torch-cpu/metadata.json" in sent[-1]
    assert set(branches_of(server, "acme/killed")) == {"main", "v1"}
    whole = files_of(server, "acme/killed", "v1")
    assert {f"build/torch-cpu/part{number}.bin" for number in range(4)} <= set(whole)


def test_a_second_upload_sends_what_changed(
    published: Path, server: RunningHub, sent: list[list[str]]
) -> None:
    from kernelmill.runtime.cli import main as kernels

    (published / "CARD.md").unlink()
    words = ["upload", str(published), "--repo-id", "acme/second"]
    assert kernels(words) == 0
    sent.clear()
    (published / "torch-ext/toy/part0.bin").write_bytes(b"new")
    assert main(["build", str(published)]) == 0
    assert kernels(words) == 0
    assert [it.removeprefix("build/torch-cpu/") for batch in sent for it in batch] == [
        "_ops.py",
        "metadata.json",
        "part0.bin",
    ]
    assert len(sent) == 1, "readers see all of it at once"
    sent.clear()
    assert kernels(words) == 0
    assert sent == []


def test_build_and_upload_publishes_builds_benchmarks_and_the_card(
    published: Path,
    server: RunningHub,
    client: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    client.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    report = tmp_path / "report.json"
    words = ["--against", server.url, "--repo-id", "acme/whole", "--output-json", str(report)]
    assert main(["build-and-upload", str(published), *words]) == 0
    printed = capfd.readouterr()
    assert printed.out == f"{server.url}/kernels/acme/whole/tree/v1\n"
    assert "0.0 MB" not in printed.err
    assert json.loads(report.read_text())["status"] == "uploaded"
    assert "benchmarks/benchmark.py" in files_of(server, "acme/whole", "v1")
    from huggingface_hub import hf_hub_download

    card = hf_hub_download(
        "acme/whole", "README.md", repo_type="kernel", endpoint=server.url, token=server.token
    )
    with open(card, encoding="utf-8") as file:  # noqa: PTH123 - the client gives a str
        assert file.read() == "# acme/whole 1\n"
    assert main(["upload", str(published), *words, "-q"]) == 0
    assert json.loads(report.read_text())["status"] == "no_changes"
    assert capfd.readouterr().err == ""


def test_l14_a_call_that_would_fail_in_its_version_is_refused(
    kernel: Path, server: RunningHub, client: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    client.setenv("HF_ENDPOINT", server.url)
    package = kernel / "torch-ext/toy/__init__.py"
    words = ["upload", str(kernel), "--repo-id", "acme/calls", "-q"]

    def send(source: str, *more: str) -> int:
        package.write_text(f'__all__ = ["double"]\n{source}\n')
        assert main(["build", str(kernel)]) == 0
        return main([*words, *more])

    assert send("def double(x, out=None): ...") == 0
    before = branches_of(server, "acme/calls")
    capfd.readouterr()
    assert send("def double(x, out): ...") == 1
    said = capfd.readouterr().err
    assert "torch-cpu, compared with acme/calls@v1: - double(x, out=...)" in said
    assert "+ double(x, out)" in said
    assert "or raise the version in build.toml" in said
    assert branches_of(server, "acme/calls") == before
    assert send("def double(x, out): ...", "--allow-api-changes") == 0
    assert branches_of(server, "acme/calls") != before
