"""Run a Markdown page: its commands, its Python, and its excerpts of files.

A block's first word says what it is:

``console``  lines after ``$`` are run by bash, in order, in one environment; every other line must
             be among the lines printed, and after ``ls`` be all that was printed.
``python``   is run as a script in the same environment; a ``text`` block right after it must equal
             what it printed.
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

STATE = ".exports"
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


def run_page(
    page: Path,
    *,
    folder: Path,
    root: Path,
    env: Mapping[str, str],
    replace: Mapping[str, str] | None = None,
) -> int:
    """Run every block of ``page`` in ``folder`` and return how many were run or compared.

    ``replace`` maps words of the page to others, such as a port number to one that is free.
    """
    count = 0
    (folder / STATE).touch()
    printed: str | None = None
    for written in read_blocks(page):
        block = _replaced(written, replace or {})
        kind, _, path = block.info.partition(" ")
        place = f"{page.name}:{block.line}"
        if kind == "console":
            _run_console(block, place, folder, env)
        elif kind == "python":
            script = folder / ".block.py"
            script.write_text(block.body, encoding="utf-8")
            printed = _run(f"{sys.executable} {script.name}", place, folder, env).stdout
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
        done = _run(command, place, folder, env)
        printed = done.stdout + done.stderr
        lines = printed.splitlines()
        if command.startswith("ls "):
            _compare(expected, lines, f"{place}: `{command}`")
        for line in filter(None, expected):
            assert any(_matches(line, other) for other in lines), (
                f"{place}: `{command}` did not print\n  {line}\nbut\n{printed}"
            )


def _run(
    command: str, place: str, folder: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    # Exports last from one command to the next, as in a reader's shell.
    script = f"source {STATE}\nset -euo pipefail\n{command}\nexport -p > {STATE}\n"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=dict(env),
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, (
        f"{place}: {command}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done


def _replaced(block: Block, words: Mapping[str, str]) -> Block:
    body = block.body
    for old, new in words.items():
        body = body.replace(old, new)
    return Block(info=block.info, body=body, line=block.line)


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
