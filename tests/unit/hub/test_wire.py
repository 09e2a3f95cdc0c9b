"""Requests become values: pure functions, no disk."""

from __future__ import annotations

import asyncio
import base64
import json
import time
import tracemalloc
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from kernelmill.hub.errors import InvalidRequest, RangeNotSatisfiable, TooSlow
from kernelmill.hub.routes.common import body_pieces
from kernelmill.hub.wire.card import check_card
from kernelmill.hub.wire.commits import AddFile, DeleteFolder, Header, parse_commit
from kernelmill.hub.wire.names import check_account_name, check_path, check_ref_name, parse_repo_id
from kernelmill.hub.wire.ranges import parse_range
from kernelmill.hub.wire.render import date

if TYPE_CHECKING:
    from starlette.types import Message


def commit_body(files: dict[str, bytes]) -> bytes:
    lines: list[dict[str, object]] = [{"key": "header", "value": {"summary": "s"}}]
    for path, data in files.items():
        content = base64.b64encode(data).decode()
        value = {"content": content, "path": path, "encoding": "base64"}
        lines.append({"key": "file", "value": value})
    return b"\n".join(json.dumps(line).encode() for line in lines)


def read(operation: object) -> bytes:
    assert isinstance(operation, AddFile)
    data = b"".join(operation.content.chunks())
    assert operation.content.size_bytes == len(data)
    return data


@pytest.mark.parametrize(
    "size", [0, 1, 2, 3, 1000, 196_607, 196_608, 196_609, 393_216, 600_000, 600_001, 600_002]
)
def test_commit_gives_files_back_when_lines_are_short_or_long(size: int) -> None:
    data = bytes(i * 7 % 256 for i in range(size))
    header, *files = parse_commit(commit_body({'tricky "content":" name': data, "b": b"2"}))
    assert header == Header(summary="s", description="", parent=None)
    assert [read(file) for file in files] == [data, b"2"]


def test_commit_keeps_little_in_memory_when_a_file_is_large() -> None:
    body = commit_body({"large": bytes(12_000_000)})
    tracemalloc.start()
    try:
        size = sum(
            len(chunk)
            for line in parse_commit(body)
            if isinstance(line, AddFile)
            for chunk in line.content.chunks()
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size == 12_000_000
    assert peak < 2_000_000


def test_commit_reads_a_folder_with_or_without_its_slash() -> None:
    body = b'{"key":"header","value":{}}\n{"key":"deletedFolder","value":{"path":"a/b/"}}\n\n'
    assert list(parse_commit(body))[1:] == [DeleteFolder(path="a/b")]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-", range(10)),
        ("bytes=2-4", range(2, 5)),
        ("bytes=9-9", range(9, 10)),
        ("bytes=-3", range(7, 10)),
        ("bytes=-30", range(10)),
        ("bytes=4-2", None),
        ("bytes=0-1,3-4", None),
        ("bytes=-", None),
        ("lines=0-1", None),
        ("bytes=x-y", None),
        ("bytes=\u0661-", None),
        ("bytes=0-" + "9" * 5000, range(10)),
        ("bytes=-" + "9" * 5000, range(10)),
        ("bytes=" + "0" * 5000 + "-1", range(2)),
    ],
)
def test_range_is_read_as_the_rfc_says(header: str | None, expected: range | None) -> None:
    assert parse_range(header, 10) == expected


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ("bytes=10-", 10),
        ("bytes=-0", 10),
        ("bytes=0-", 0),
        ("bytes=" + "9" * 5000 + "-", 10),
    ],
)
def test_range_is_not_satisfiable_when_no_byte_is_in_it(header: str, size: int) -> None:
    with pytest.raises(RangeNotSatisfiable, match="starts past the end"):
        parse_range(header, size)


@given(st.lists(st.sampled_from([*"./\\\0aG~1: ", "..", "git", ".git", "\u200c", "\ud800"])))
def test_path_is_safe_when_it_passes(pieces: list[str]) -> None:
    path = "".join(pieces)
    with suppress(InvalidRequest):
        check_path(path)
        parts = path.split("/")
        assert not {"", ".", "..", ".git"} & {part.lower() for part in parts}
        assert not {"\\", "\0"} & set(path)
        assert len(path.encode()) == sum(len(part.encode()) + 1 for part in parts) - 1


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "0x", "_a_", "a" * 90])
def test_account_name_passes_when_the_client_would_accept_it(name: str) -> None:
    assert check_account_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", ".a", "a.", "a--b", "a/b", "a b", "\xe4", "a" * 97]
)
def test_account_name_is_refused_when_the_client_would_refuse_it(name: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot name an account"):
        check_account_name(name)


@pytest.mark.parametrize("name", ["api", "Kernels", "resolve"])
def test_account_name_is_refused_when_a_path_needs_it(name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"the name '{name}' is reserved"):
        check_account_name(name)


def test_repo_id_is_refused_in_the_words_of_spec() -> None:
    assert str(parse_repo_id("acme/gemm")) == "acme/gemm"
    with pytest.raises(InvalidRequest, match="'gemm' is not a repository id\n  hint: write it as"):
        parse_repo_id("gemm")


@pytest.mark.parametrize("name", ["v1", "feature/x", "1.0", "ü"])
def test_ref_name_passes_when_git_accepts_it(name: str) -> None:
    assert check_ref_name(name, what="branch") == name


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a~1", "a^", "a:b", "a?", "a*", "a[", "-a",
             "a@{1}", "@", "HEAD", "a\x7f", "a\n"]
)  # fmt: skip
def test_ref_name_is_refused_when_git_refuses_it(name: str) -> None:
    with pytest.raises(InvalidRequest, match="git refuses it"):
        check_ref_name(name, what="branch")


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("no metadata", []),
        ("---\nlicense: mit\n---\ntext", []),
        ("---\r\nlicense: mit\r\n---\r\ntext", []),
        ("---\n---\n", []),
        ("---\nlicense: mit\n", ["the metadata block of line 1 has no closing '---'"]),
        ("---\n- a\n---\n", ["the metadata block must be a mapping of keys to values"]),
        (
            f"---\na: {'[' * 60_000}\n---\n",
            ["the metadata block is not valid YAML: values are nested more than 40 levels deep"],
        ),
        (
            "---\na: &a {k: v}\nb: {<<: [*a, *a]}\n---\n",
            ["the metadata block is not valid YAML: aliases are not allowed here"],
        ),
        (
            "---\na: 2024-99-99\n---\n",
            ["the metadata block is not valid YAML: month must be in 1..12"],
        ),
        (f"---\na: {'b' * 70_000}\n---\n", ["the metadata block is longer than 65536 characters"]),
    ],
)
def test_card_is_checked_by_its_metadata(text: str, errors: list[str]) -> None:
    assert [error["message"] for error in check_card(text)] == errors


async def read_slowly(pieces: list[bytes], *, wait_s: float, grace_s: float) -> bytes:
    async def receive() -> Message:
        if not pieces:
            await anyio.sleep(10)
        await anyio.sleep(wait_s)
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": True}

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    return b"".join([piece async for piece in body_pieces(request, grace_s=grace_s)])


@pytest.mark.parametrize("pieces", [[], [b"x"] * 100])
def test_body_is_given_up_when_it_comes_too_slowly(pieces: list[bytes]) -> None:
    start = time.monotonic()
    with pytest.raises(TooSlow, match="arrives too slowly"):
        asyncio.run(read_slowly(pieces, wait_s=0.02, grace_s=0.1))
    assert time.monotonic() - start < 1


def test_body_may_take_longer_when_it_is_longer() -> None:
    pieces = [b"x" * 4096, b""]
    with pytest.raises(TooSlow):  # in the end: `read_slowly` never ends by itself
        asyncio.run(read_slowly(pieces, wait_s=0.15, grace_s=0.2))
    assert pieces == []


def test_date_has_milliseconds_and_z() -> None:
    assert date(1_700_000_000_007) == "2023-11-14T22:13:20.007Z"
