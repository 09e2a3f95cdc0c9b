from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import (
    MemoryHub,
    MemoryPublisher,
    MemoryRepo,
    kernel_files,
    write_files,
)

import kernels
from kernelmill.runtime.cli import main
from kernelmill.runtime.draft import plan_upload, read_draft
from kernelmill.runtime.publish import Published, branch_url, publish
from kernelmill.spec.errors import HubError, ManifestError, PublicationError
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelmill.spec.publication import Publication

BUILD_TOML = """\
[general]
name = "toy"
edition = 5
version = {version}
license = "Apache-2.0"
backends = ["cpu"]

[general.hub]
repo-id = "acme/toy"

[torch-noarch]
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A kernel's repository with one build."""
    folder = tmp_path / "toy"
    write_files(folder / "build/torch-cpu", kernel_files())
    files = {
        "build.toml": BUILD_TOML.format(version=1).encode(),
        "CARD.md": b"# toy\n",
        "benchmarks/benchmark.py": b"",
        "benchmarks/notes.txt": b"",
        "torch-ext/toy/__init__.py": b"",
    }
    return write_files(folder, files)


def plan(folder: Path, **options: str) -> Publication:
    chosen: dict[str, str | None] = {"repo_id": None, "branch": None, **options}
    return plan_upload(
        read_draft(folder), repo_id=chosen["repo_id"], branch=chosen["branch"], repo_type="kernel"
    )


def send(folder: Path, hub: MemoryHub, **options: str) -> Published:
    planned = plan(folder, **options)
    return publish(planned, folder, MemoryPublisher(hub=hub, repo=planned.repo_id))


def test_upload_puts_the_card_on_main_and_the_builds_on_their_version(
    repository: Path, hub: MemoryHub
) -> None:
    published = send(repository, hub)
    assert hub.files("acme/toy", "main") == ["README.md"]
    assert hub.files("acme/toy", "v1") == [
        "benchmarks/benchmark.py",
        "build/torch-cpu/__init__.py",
        "build/torch-cpu/metadata.json",
    ]
    calls = [re.sub(r"v1-upload-\w+", "STAGING", call) for call in hub.calls]
    assert [call for call in calls if call.startswith("commit")] == [
        "commit main: Uploaded using `kernels upload`.",
        "commit STAGING: Uploaded using `kernels upload`.",
    ]
    assert published.url == "http://hub.test/kernels/acme/toy/tree/v1"
    assert published.commits == hub.repos["acme/toy"].branches


def test_failed_upload_leaves_no_version_behind(repository: Path, hub: MemoryHub) -> None:
    (repository / "CARD.md").unlink()
    hub.fails_after = 0
    with pytest.raises(HubError, match="the Hub failed"):
        send(repository, hub)
    assert list(hub.repos["acme/toy"].branches) == ["main"]


def test_upload_can_be_loaded(repository: Path, process_session: MemoryHub) -> None:
    send(repository, process_session)
    assert kernels.get_kernel("acme/toy", version=1).double(4) == 8


@pytest.mark.parametrize(
    ("options", "repo", "branch"),
    [
        pytest.param({}, "acme/toy", "v1", id="manifest"),
        pytest.param({"repo_id": "else/where"}, "else/where", "v1", id="other-repository"),
        pytest.param({"branch": "next"}, "acme/toy", "next", id="other-branch"),
    ],
)
def test_upload_goes_where_it_is_told(
    repository: Path, hub: MemoryHub, options: dict[str, str], repo: str, branch: str
) -> None:
    send(repository, hub, **options)
    assert "build/torch-cpu/metadata.json" in hub.files(repo, branch)


def test_upload_replaces_the_files_of_the_same_build_alone(
    repository: Path, hub: MemoryHub
) -> None:
    send(repository, hub)
    known = hub.repos["acme/toy"]
    stale = {
        "build/torch-cpu/old.so": b"",
        "build/torch-rocm/kept.py": b"",
        "benchmarks/benchmark_kept.py": b"",
        "reports/torch-cpu/kept.json": b"",
    }
    known.commit("v1", {**known.commits[known.branches["v1"]], **stale})
    published = send(repository, hub)
    assert published.deleted == ("build/torch-cpu/old.so",)
    assert set(stale) - set(hub.files("acme/toy", "v1")) == {"build/torch-cpu/old.so"}


def test_upload_starts_a_new_version_without_what_main_held(
    repository: Path, hub: MemoryHub
) -> None:
    files = {"README.md": b"", "build/torch-rocm/old.py": b"", "benchmarks/benchmark_old.py": b""}
    hub.repos["acme/toy"] = MemoryRepo()
    hub.repos["acme/toy"].commit("main", files)
    published = send(repository, hub)
    assert published.deleted == ("benchmarks/benchmark_old.py", "build/torch-rocm/old.py")
    assert "build/torch-rocm/old.py" in hub.files("acme/toy", "main")


def test_upload_makes_one_commit_when_the_builds_go_to_main(
    repository: Path, hub: MemoryHub
) -> None:
    send(repository, hub, branch="main")
    calls = [re.sub(r"v1-upload-\w+", "STAGING", call) for call in hub.calls]
    assert [call for call in calls if call.startswith("commit")] == [
        "commit main: Uploaded using `kernels upload`."
    ]
    assert {"README.md", "build/torch-cpu/__init__.py"} <= set(hub.files("acme/toy", "main"))


def no_metadata(folder: Path) -> str:
    (folder / "build/torch-cpu/metadata.json").unlink()
    return "build/torch-cpu: no metadata.json"


def bad_name(folder: Path) -> str:
    (folder / "build/torch-cpu").rename(folder / "build/my build")
    return "'my build' is not the name of a build variant"


def empty(folder: Path) -> str:
    (folder / "build/torch-rocm").mkdir()
    return "build/torch-rocm: the folder is empty"


def bytecode(folder: Path) -> str:
    write_files(folder / "build/torch-cpu/__pycache__", {"x.cpython-311.pyc": b""})
    return "build/torch-cpu: holds bytecode, __pycache__/x.cpython-311.pyc"


def outside_link(folder: Path) -> str:
    (folder / "build/torch-cpu/card").symlink_to(folder / "CARD.md")
    return "build/torch-cpu: card is a link to a file outside"


def linked_folder(folder: Path) -> str:
    (folder / "build/torch-cpu/all").symlink_to(folder, target_is_directory=True)
    return "build/torch-cpu: Linked folder: all"


def changed_file(folder: Path) -> str:
    (folder / "build/torch-cpu/__init__.py").write_text("VALUE = 'changed'")
    return "build/torch-cpu: File hash mismatch for __init__.py"


def added_file(folder: Path) -> str:
    (folder / "build/torch-cpu/debug.py").write_text("")
    return "build/torch-cpu: Unknown file: debug.py"


def mixed_versions(folder: Path) -> str:
    write_files(folder / "build/torch-universal", kernel_files(version=2))
    return "build variants have different versions: 1, 2"


def stale_build(folder: Path) -> str:
    (folder / "build.toml").write_text(BUILD_TOML.format(version=2))
    return "build/torch-cpu is version 1, build.toml is version 2"


def nothing(folder: Path) -> str:
    for path in sorted((folder / "build").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    return "no build variants to upload"


def no_target(folder: Path) -> str:
    text = BUILD_TOML.format(version=1)
    (folder / "build.toml").write_text(text.replace('repo-id = "acme/toy"', ""))
    return "no repository to upload to"


@pytest.mark.parametrize(
    "spoil",
    [
        no_metadata,
        bad_name,
        empty,
        bytecode,
        outside_link,
        linked_folder,
        changed_file,
        added_file,
        mixed_versions,
        stale_build,
        nothing,
        no_target,
    ],
)
def test_upload_is_refused_before_the_hub_is_asked(
    repository: Path, hub: MemoryHub, spoil: Callable[[Path], str]
) -> None:
    problem = spoil(repository)
    with pytest.raises(PublicationError) as caught:
        send(repository, hub)
    assert problem in str(caught.value)
    assert hub.calls == []


def test_upload_names_the_mistakes_of_the_manifest(repository: Path) -> None:
    (repository / "build.toml").write_text(BUILD_TOML.format(version=1) + "sources = []\n")
    with pytest.raises(ManifestError, match=r"build.toml:12 .*sources"):
        read_draft(repository)


@pytest.mark.parametrize(
    ("repo_type", "url"),
    [
        ("kernel", "http://hub.test/kernels/acme/toy/tree/v1"),
        ("model", "http://hub.test/acme/toy/tree/v1"),
    ],
)
def test_branch_url_is_on_the_hub_that_was_used(repo_type: str, url: str) -> None:
    assert branch_url("http://hub.test", RepoId.parse("acme/toy"), repo_type, "v1") == url  # type: ignore[arg-type]


def test_dry_run_prints_the_plan_and_asks_no_hub(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.test")
    assert main(["upload", str(repository), "--dry-run"]) == 0
    output = capsys.readouterr()
    assert output.err == "to kernel repository acme/toy on http://hub.test:\n"
    assert output.out.splitlines() == [
        "branch  file",
        "main    README.md                      from CARD.md",
        "v1      build/torch-cpu/__init__.py",
        "v1      build/torch-cpu/metadata.json",
        "v1      benchmarks/benchmark.py",
    ]


def test_dry_run_prints_the_plan_as_json(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["upload", str(repository), "--dry-run", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["version"] == 1
    assert printed["status"] == "planned"
    assert printed["branch"] == "v1"
    assert printed["main_files"] == {"README.md": "CARD.md"}


def test_upload_command_exits_with_2_when_nothing_can_be_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["upload", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "kernels: no build variants to upload\n  hint: build again, then upload\n"
    )
