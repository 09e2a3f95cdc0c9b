"""Folders whose links would publish what is somewhere else, and names that no branch can have."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kernelmill.runtime.draft import read_draft
from kernelmill.spec.editions.model import HubTarget
from kernelmill.spec.errors import InputError, PublicationError
from kernelmill.spec.metadata import parse
from kernelmill.spec.publication import BuiltVariant, plan_publication

if TYPE_CHECKING:
    from pathlib import Path

METADATA = """{
  "name": "toy", "id": "_toy_1", "version": 1, "license": "MIT",
  "python-depends": [], "backend": {"type": "cpu"}
}"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    root = tmp_path / "kernel"
    (root / "build/torch-cpu").mkdir(parents=True)
    (root / "build/torch-cpu/metadata.json").write_text(METADATA)
    (root / "benchmarks").mkdir()
    (tmp_path / "secret").write_text("mine")
    return root


@pytest.mark.parametrize("path", ["build/CARD.md", "CARD.md", "benchmarks/benchmark.py"])
def test_file_of_another_folder_is_not_published(path: str, kernel: Path) -> None:
    (kernel / path).symlink_to(kernel.parent / "secret")
    with pytest.raises(PublicationError, match="is a link out of the folder") as caught:
        read_draft(kernel)
    assert caught.value.where == str(kernel / path)


@pytest.mark.parametrize("kind", ["pipe", "folder", "broken link"])
def test_benchmark_that_is_no_file_is_not_published(kind: str, kernel: Path) -> None:
    place = kernel / "benchmarks/benchmark.py"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("nowhere")
    with pytest.raises(PublicationError, match="or no file"):
        read_draft(kernel)


def test_links_within_the_folder_and_the_builds_are_published(kernel: Path) -> None:
    (kernel / "build").rename(kernel.parent / "stored")
    (kernel / "result").symlink_to(kernel.parent / "stored")
    (kernel.parent / "stored/CARD.md").write_text("card")
    (kernel / "benchmarks/all.py").write_text("")
    (kernel / "benchmarks/benchmark.py").symlink_to("all.py")
    draft = read_draft(kernel)
    assert (draft.card, draft.benchmarks) == ("result/CARD.md", ("benchmarks/benchmark.py",))


def test_manifest_that_is_no_text_is_one_error(kernel: Path) -> None:
    (kernel / "build.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="cannot be read: 'utf-8' codec"):
        read_draft(kernel)


def plan(branch: str | None, hub: HubTarget | None = None) -> str:
    variant = BuiltVariant(
        folder="torch-cpu",
        metadata=parse(METADATA, where="metadata.json"),
        files=("__init__.py", "metadata.json"),
    )
    return plan_publication(
        variants=[variant],
        card=None,
        benchmarks=[],
        repo_id="acme/toy",
        branch=branch,
        hub_target=hub,
        repo_type="kernel",
    ).version_branch


@pytest.mark.parametrize(
    "branch",
    ["../x", "a\nb", "a b", "a:b", "/a", "a/", "-f", "a..b", "a//b", "a.lock", ".a", "a/.b", "a\0",
     "a@{1}", "@", "a.", "a~1", "a^", "a?", "a*", "a[b", "a\\b"],
)  # fmt: skip
def test_name_that_no_branch_can_have_is_refused(branch: str) -> None:
    with pytest.raises(PublicationError, match="cannot be the name of a branch") as caught:
        plan(branch)
    assert caught.value.where == "--branch"
    with pytest.raises(PublicationError, match="cannot be the name of a branch") as caught:
        plan(None, HubTarget(repo_id=None, branch=branch))
    assert caught.value.where == "[general.hub] branch"


@pytest.mark.parametrize("branch", ["v1", "release/2.0", "über", "a@b", "@a", "a-b_c", "v1.locked"])
def test_name_of_a_branch_is_taken(branch: str) -> None:
    assert plan(branch) == branch
