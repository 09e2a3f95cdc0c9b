"""What programs said of themselves before, so that a build does not ask every compiler again.

An answer is believed as long as the program's file has the same size and time. The file is a cache:
whoever removes it loses nothing, and one that cannot be read or written is done without.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLE: Final = "KERNELMILL_PROBES"
"""Names the file; empty for none."""
_FORMAT: Final = 1
COMPILER_TIMEOUT_S: Final = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed, and its exit status."""

    status: int
    stdout: str
    stderr: str


class Memo:
    """The answers in one file."""

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self._answers: dict[str, list[object]] = _read(place) if place else {}

    def ask(self, command: Sequence[str], *, timeout_s: float) -> Answer:
        """Run ``command``, whose first word is a path, unless its answer is known.

        Only success is remembered: a failure may have passed by the next time.

        Raises:
            OSError: the program cannot be run.
            subprocess.TimeoutExpired: it takes too long.
        """
        key = _key(command)
        if key and (known := self._recall(key)):
            return known
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
        answer = Answer(done.returncode, done.stdout, done.stderr)
        if key and not answer.status:
            self._remember(key, answer)
        return answer

    def _recall(self, key: str) -> Answer | None:
        match self._answers.get(key):
            case [str(stdout), str(stderr)]:
                return Answer(0, stdout, stderr)
            case _:
                return None

    def _remember(self, key: str, answer: Answer) -> None:
        self._answers[key] = [answer.stdout, answer.stderr]
        if self._place is None:
            return
        # Two builds may write at once: each writes a whole file, and the last one stays.
        temporary = self._place.with_name(f"{self._place.name}.{os.getpid()}")
        document = {"format": _FORMAT, "answers": self._answers}
        with suppress(OSError):
            self._place.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(document), encoding="utf-8")
            temporary.replace(self._place)


@cache
def open_memo() -> Memo:
    """Return the memo of this user."""
    return Memo(memo_place(os.environ))


def memo_place(env: Mapping[str, str]) -> Path | None:
    """Return the memo's file: the one that is named, else one in the user's cache."""
    if VARIABLE in env:
        return Path(env[VARIABLE]).absolute() if env[VARIABLE] else None
    folder = env.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(folder).expanduser().absolute() / "kernelmill" / "probes.json"
    except RuntimeError:  # this user has no home
        return None


def _key(command: Sequence[str]) -> str:
    """Return the command and what its program's file looks like; nothing for one without a file."""
    program = Path(command[0])
    try:
        state = program.stat()  # of the file behind a link, which is what an upgrade replaces
        real = program.resolve()
    except OSError:
        return ""
    return json.dumps([*command, str(real), state.st_size, state.st_mtime_ns])


def _read(place: Path) -> dict[str, list[object]]:
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        return {}
    answers = document.get("answers")
    if not isinstance(answers, dict):
        return {}
    return {key: value for key, value in answers.items() if isinstance(value, list)}


class UnusableError(Exception):
    """Why a compiler cannot be used. Whoever looks for one makes a note of it."""


def ask_compiler(command: Sequence[str]) -> str:
    """Return what a compiler prints, or printed before, on either stream.

    zig says its targets on standard error, and so does clang.

    Raises:
        UnusableError: it does not run, or fails.
    """
    try:
        # The command is a compiler that the user installed; there is no shell and no input.
        done = open_memo().ask(command, timeout_s=COMPILER_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnusableError(f"does not run: {error}") from error
    if done.status:
        said = done.stderr.strip().partition("\n")[0] or f"status {done.status}"
        raise UnusableError(f"fails: {said}")
    return f"{done.stdout}\n{done.stderr}"
