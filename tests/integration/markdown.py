"""Run a Markdown page: its commands, its Python, and its excerpts of files.

A block's first word says what it is:

``console``  lines after ``$`` are run by bash, in order; every other line must be among the lines printed.
``python``   is run as a script; a ``text`` block right after it must equal what it printed.
``<language> <path>``  is an excerpt: its lines must stand in that file, in order.

In printed lines ``…`` matches anything.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page."""

    info: str
    body: str
    line: int


def read_blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of ``page``, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(info=m["info"].strip(), body=m["body"], line=text.count("\n", 0, m.start()) + 1)
        for m in FENCE.finditer(text)
    ]


def run_page(page: Path, *, folder: Path, root: Path, env: Mapping[str, str]) -> int:
    """Run every block of ``page`` in ``folder`` and return how many were run or compared."""
    count = 0
    printed: str | None = None
    for block in read_blocks(page):
        kind, _, path = block.info.partition(" ")
        place = f"{page.name}:{block.line}"
        if kind == "console":
            _run_console(block, place, folder, env)
        elif kind == "python":
            printed = _run([sys.executable, "-c", block.body], place, folder, env)
        elif kind == "text" and printed is not None:
            _compare(block.body.splitlines(), printed.splitlines(), place)
        elif path:
            _check_excerpt(block, root / path, place)
        else:
            continue
        count += 1
        if kind != "python":
            printed = None
    return count


def _commands(body: str) -> Iterator[tuple[str, list[str]]]:
    command, expected = "", list[str]()
    for line in body.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, expected
            command, expected = line[2:], []
        elif command.endswith("\\"):
            command += "\n" + line
        else:
            expected.append(line)
    if command:
        yield command, expected


def _run_console(block: Block, place: str, folder: Path, env: Mapping[str, str]) -> None:
    for command, expected in _commands(block.body):
        printed = _run(["bash", "-euo", "pipefail", "-c", command], place, folder, env)
        lines = printed.splitlines()
        for line in filter(None, expected):
            assert any(_matches(line, other) for other in lines), (
                f"{place}: `{command}` did not print\n  {line}\nbut\n{printed}"
            )


def _run(command: list[str], place: str, folder: Path, env: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=dict(env), capture_output=True, text=True, check=False, timeout=400
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, f"{place}: {command[-1]}\nexit {done.returncode}\n{printed}"
    return done.stdout if command[0] == sys.executable else printed


def _compare(expected: list[str], printed: list[str], place: str) -> None:
    same = len(expected) == len(printed) and all(map(_matches, expected, printed))
    assert same, f"{place}: printed\n" + "\n".join(printed)


def _matches(expected: str, printed: str) -> bool:
    pattern = ".*".join(map(re.escape, expected.strip().split("…")))
    return re.fullmatch(pattern, printed.strip()) is not None


def _check_excerpt(block: Block, file: Path, place: str) -> None:
    lines = iter(file.read_text(encoding="utf-8").splitlines())
    for line in filter(str.strip, block.body.splitlines()):
        if line.strip() != "…":
            found = any(line.strip() == other.strip() for other in lines)
            assert found, f"{place}: {file.name} has no line (in this order)\n  {line}"
