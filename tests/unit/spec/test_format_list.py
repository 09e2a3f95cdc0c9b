"""Every file format has a page, and the pages' examples are read by the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.unit.spec.test_format_pages import blocks, page

from kernelmill.spec import lockfile, status

DOCS = Path(__file__).parents[3] / "docs"
FORMATS = re.findall(r"(?m)^\| (`.*?) \| .* \| .* \| (.*) \|$", page("formats.md"))


def test_every_format_that_has_a_name_in_the_code_is_listed() -> None:
    listed = {name for names, _ in FORMATS for name in re.findall(r"`([^`]+)`", names)}
    known = {lockfile.FILE_NAME, status.FILE_NAME, "metadata.json", "metadata.json.sig"}
    known |= {"build.toml", "sdk.json", "kernels-bundle.json"}
    assert known <= listed


@pytest.mark.parametrize(("names", "pages"), FORMATS)
def test_each_format_has_a_page_that_names_it(names: str, pages: str) -> None:
    links = re.findall(r"\]\((.*?)\)", pages)
    assert links
    first = re.findall(r"`([^`]+)`", names)
    assert not first or any(first[0].strip("/") in page(link) for link in links)


def test_the_examples_of_lock_files_are_read_and_written_as_they_are() -> None:
    today, old = blocks("lockfile.md", "json")
    assert lockfile.dumps(lockfile.parse(today)) == today.strip()
    (kernel,) = lockfile.parse(old).kernels
    (digest,) = kernel.variant_hashes.values()
    assert digest == lockfile.hash_variant([])


def test_keys_of_lock_files_are_those_of_the_table() -> None:
    rows = re.findall(r"(?m)^\| `([a-z.-]+)` \|", page("lockfile.md"))
    today, _ = blocks("lockfile.md", "json")
    written = {f"{part}.{key}" for it in json.loads(today) for part in it for key in it[part]}
    assert set(rows) == written


def test_the_example_of_a_status_is_read_as_the_page_says() -> None:
    (example,) = blocks("status.md", "toml")
    read = status.parse(example)
    assert (str(read.destination), read.revision) == ("org/new", "v1")
    assert f"`{status.DEFAULT_REVISION}` when left out" in page("status.md")


@pytest.mark.parametrize("name", ["formats.md", "lockfile.md", "status.md", "commands.md"])
def test_pages_are_short_and_their_links_lead_somewhere(name: str) -> None:
    assert len(page(name).splitlines()) <= 200
    links = re.findall(r"\]\(([a-z-]+\.md)\)", page(name))
    assert not [link for link in links if not (DOCS / link).is_file()]
