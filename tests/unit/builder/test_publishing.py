from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder import publishing
from kernelmill.builder.cli.build_and_copy import copy_variants
from kernelmill.builder.errors import PlanError, SourceError
from kernelmill.builder.publishing import Wish, choose_place, parse_endpoint

if TYPE_CHECKING:
    from pathlib import Path


def test_a_wish_becomes_the_words_of_kernels_upload() -> None:
    wish = Wish(repo_id="a/b", branch="next", repo_type="model", is_private=True, is_json=True)
    assert list(wish.words()) == [
        "--repo-id=a/b",
        "--branch=next",
        "--repo-type=model",
        "--private",
        "--json",
    ]
    assert list(Wish().words()) == []


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("https://hub.example.org", "https://hub.example.org"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("https://example.org/hub/", "https://example.org/hub"),
        ("hub.example.org", None),
        ("acme/toy", None),
        ("file:///tmp", None),
        ("https://hub.example.org?x=1", None),
    ],
)
def test_only_an_address_is_another_hub(text: str, endpoint: str | None) -> None:
    if endpoint is not None:
        assert parse_endpoint(text) == endpoint
        return
    with pytest.raises(PlanError, match="is not the address of a Hub"):
        parse_endpoint(text)


def test_the_place_of_the_builds_is_not_guessed(tmp_path: Path) -> None:
    assert choose_place(tmp_path, None) == "build"
    for place in ("result", "build"):
        (tmp_path / place / "torch-cpu").mkdir(parents=True)
        (tmp_path / place / "torch-cpu/metadata.json").touch()
        if place == "result":
            assert choose_place(tmp_path, None) == "result"
    with pytest.raises(SourceError, match="there are builds in result and in build"):
        choose_place(tmp_path, None)
    assert choose_place(tmp_path, "build") == "build"


def test_the_report_has_upstreams_form() -> None:
    document = {"status": "uploaded", "repo_id": "a/b", "branch": "v1", "url": "u", "deleted": []}
    assert publishing.as_upstream_reports(document) == {
        "status": "uploaded",
        "repo_id": "a/b",
        "branch": "v1",
        "url": "u",
        "pull_requests": [],
    }


def test_nothing_to_copy_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No build variants found in"):
        copy_variants(tmp_path, tmp_path)
