"""An upload that is interrupted: what readers see meanwhile, and what is sent again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, MemoryPublisher, kernel_files, write_files

from kernelmill.runtime import publish as publish_module
from kernelmill.runtime.draft import plan_upload, read_draft
from kernelmill.runtime.files import shown_size
from kernelmill.runtime.publish import publish, staging_branch
from kernelmill.spec.errors import HubError, InputError, PublicationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelmill.spec.publication import Publication

SOURCES = {f"part{number}.py": "x = 1\n" * 50 for number in range(6)}


@dataclass(kw_only=True)
class FailingPublisher(MemoryPublisher):
    """A Hub that goes away after some commits, and remembers what each commit brought."""

    commits_left: int = 99
    sent: list[tuple[str, ...]] = field(default_factory=list)

    def commit(
        self,
        branch: str,
        *,
        parent: str,
        additions: Mapping[str, Path],
        deletions: Sequence[str],
        message: str,
    ) -> str:
        if not self.commits_left:
            raise HubError("the Hub went away")
        self.commits_left -= 1
        self.sent.append(tuple(sorted(Path(it).name for it in additions)))
        return super().commit(
            branch, parent=parent, additions=additions, deletions=deletions, message=message
        )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel whose build takes several batches."""
    monkeypatch.setattr(publish_module, "BATCH_BYTES", 700)
    write_files(tmp_path / "toy/build/torch-cpu", kernel_files(sources=SOURCES))
    return tmp_path / "toy"


def plan_of(folder: Path) -> Publication:
    return plan_upload(read_draft(folder), repo_id="acme/toy", branch=None, repo_type="kernel")


def failing(hub: MemoryHub, folder: Path, commits: int = 99) -> FailingPublisher:
    return FailingPublisher(hub=hub, repo=plan_of(folder).repo_id, commits_left=commits)


def test_a_new_version_is_seen_when_it_is_whole(folder: Path, hub: MemoryHub) -> None:
    publisher = failing(hub, folder)
    said: list[str] = []
    published = publish(plan_of(folder), folder, publisher, report=said.append)
    assert len(publisher.sent) > 2
    assert publisher.sent[-1][-1] == "metadata.json"
    assert not any("metadata.json" in it for it in publisher.sent[:-1])
    assert sorted(hub.repos["acme/toy"].branches) == ["main", "v1"]
    assert (
        said[0] == f"uploading 3 files (656 bytes) to acme/toy v1, part 1 of {len(publisher.sent)}"
    )
    assert published.is_changed


def test_an_interrupted_upload_goes_on_where_it_stopped(folder: Path, hub: MemoryHub) -> None:
    heard: list[str] = []
    with pytest.raises(HubError, match="the Hub went away"):
        publish(plan_of(folder), folder, failing(hub, folder, commits=2), report=heard.append)
    assert heard[-1] == "what was sent stays there: run the same command again to go on"
    staging = staging_branch(plan_of(folder))
    assert sorted(hub.repos["acme/toy"].branches) == ["main", staging]
    before = hub.repos["acme/toy"].branches[staging]
    said: list[str] = []
    publish(plan_of(folder), folder, failing(hub, folder), report=said.append)
    assert said[0] == f"going on with an upload that was interrupted, on {staging}"
    assert sorted(hub.repos["acme/toy"].branches) == ["main", "v1"]
    whole = hub.repos["acme/toy"].commits[hub.repos["acme/toy"].branches["v1"]]
    assert hub.repos["acme/toy"].commits[before].items() <= whole.items()


def test_an_interrupted_upload_of_other_files_is_left_alone(folder: Path, hub: MemoryHub) -> None:
    with pytest.raises(HubError, match="went away"):
        publish(plan_of(folder), folder, failing(hub, folder, commits=1))
    left = staging_branch(plan_of(folder))
    write_files(folder / "build/torch-rocm", kernel_files())
    publish(plan_of(folder), folder, failing(hub, folder))
    assert sorted(hub.repos["acme/toy"].branches) == ["main", "v1", left]


def test_a_file_that_changed_since_the_interruption_is_the_new_one(
    folder: Path, hub: MemoryHub
) -> None:
    with pytest.raises(HubError, match="went away"):
        publish(plan_of(folder), folder, failing(hub, folder, commits=2))
    changed = SOURCES | {"part0.py": "x = 2\n"}
    write_files(folder / "build/torch-cpu", kernel_files(sources=changed))
    publish(plan_of(folder), folder, failing(hub, folder))
    known = hub.repos["acme/toy"]
    assert known.commits[known.branches["v1"]]["build/torch-cpu/part0.py"] == b"x = 2\n"


def test_a_known_version_gets_one_commit(folder: Path, hub: MemoryHub) -> None:
    publish(plan_of(folder), folder, failing(hub, folder))
    changed = {name: text + "y = 1\n" for name, text in SOURCES.items()}
    write_files(folder / "build/torch-cpu", kernel_files(sources=changed))
    publisher = failing(hub, folder)
    publish(plan_of(folder), folder, publisher)
    assert len(publisher.sent) == 1


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (49_999, "50.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (1_234_567, "1.2 MB"),
        (3_000_000_000, "3.0 GB"),
        (2 * 10**15, "2000.0 TB"),
    ],
)
def test_sizes_are_never_zero_of_a_larger_unit(size_bytes: int, text: str) -> None:
    assert shown_size(size_bytes) == text


def test_builds_that_nix_linked_are_published_from_there(folder: Path, hub: MemoryHub) -> None:
    (folder / "store").mkdir()
    (folder / "build").rename(folder / "store/out")
    (folder / "result").symlink_to(folder / "store/out")
    publish(plan_of(folder), folder, failing(hub, folder))
    assert "build/torch-cpu/metadata.json" in hub.files("acme/toy", "v1")


def test_builds_in_two_places_are_not_guessed_at(folder: Path) -> None:
    write_files(folder / "result/torch-rocm", kernel_files())
    with pytest.raises(InputError, match="there are builds in result and in build") as caught:
        read_draft(folder)
    assert caught.value.hint == "say which with --builds result or --builds build"
    assert [it.name for it in read_draft(folder, place="build").variants] == ["torch-cpu"]


def test_a_card_that_nobody_filled_in_is_not_published(folder: Path) -> None:
    (folder / "CARD.md").write_text("# {{ repo_id }}\n")
    with pytest.raises(PublicationError, match="the card is a template") as caught:
        read_draft(folder)
    assert "kernel-builder fill-card" in caught.value.hint
    (folder / "build/CARD.md").write_text("# acme/toy\n")
    assert read_draft(folder).card == "build/CARD.md"
