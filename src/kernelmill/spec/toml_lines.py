"""Finds the lines of keys in a TOML text, which ``tomllib`` does not tell."""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

KeyPath = tuple[str | int, ...]

_SPACE: Final = " \t\r\n"
_BARE_END: Final = frozenset(" \t\r\n.=]}#,")


def key_lines(content: str) -> Mapping[KeyPath, int]:
    """Return the line, from 1 on, of each table, key and array item in ``content``.

    The text must be valid TOML: what ``tomllib`` accepts.
    """
    return _Scanner(content).scan()


class _Scanner:
    def __init__(self, content: str) -> None:
        self.content = content
        self.line_ends = [at for at, char in enumerate(content) if char == "\n"]
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.implied: dict[KeyPath, int] = {}
        self.array_tables: dict[KeyPath, int] = {}

    def scan(self) -> Mapping[KeyPath, int]:
        table: KeyPath = ()
        while self._skip_space():
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
        return self.implied | self.lines

    def _peek(self) -> str:
        return self.content[self.at : self.at + 1]

    def _skip_space(self) -> bool:
        """Pass white space and comments; tell whether anything follows."""
        while char := self._peek():
            if char == "#":
                end = self.content.find("\n", self.at)
                self.at = len(self.content) if end < 0 else end
            elif char in _SPACE:
                self.at += 1
            else:
                return True
        return False

    def _record(self, path: KeyPath) -> None:
        """Note that the key ``path`` is here; its parents too, unless they have headers."""
        line = bisect_left(self.line_ends, self.at) + 1
        self.lines.setdefault(path, line)
        for size in range(1, len(path)):
            self.implied.setdefault(path[:size], line)

    def _header(self) -> KeyPath:
        is_array = self.content.startswith("[[", self.at)
        start = self.at
        self.at += 2 if is_array else 1
        path = self._resolve(self._key())
        end, self.at = self.at, start
        if is_array:
            self._record(path)
            index = self.array_tables[path] = self.array_tables.get(path, -1) + 1
            path = (*path, index)
        self._record(path)
        self.at = self.content.index("]", end) + (2 if is_array else 1)
        return path

    def _resolve(self, key: KeyPath) -> KeyPath:
        """Put the index of the newest item after each array of tables but the last part."""
        path: KeyPath = ()
        for position, part in enumerate(key):
            path = (*path, part)
            if path in self.array_tables and position < len(key) - 1:
                path = (*path, self.array_tables[path])
        return path

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while True:
            self._skip_space()
            if self._peek() in {'"', "'"}:
                start = self.at
                self._string()
                parts.append(_unquote(self.content[start : self.at]))
            else:
                start = self.at
                while self._peek() not in _BARE_END:
                    self.at += 1
                parts.append(self.content[start : self.at])
            self._skip_space()
            if self._peek() != ".":
                return tuple(parts)
            self.at += 1

    def _pair(self, table: KeyPath) -> None:
        start = self.at
        key = self._key()
        end, self.at = self.at, start
        self._record((*table, *key))
        self.at = self.content.index("=", end) + 1
        self._value((*table, *key))

    def _value(self, path: KeyPath) -> None:
        self._skip_space()
        match self._peek():
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case '"' | "'":
                self._string()
            case _:  # a number, a date or a boolean
                while self._peek() and self._peek() not in ",]}#\n":
                    self.at += 1

    def _array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while self._skip_space() and self._peek() != "]":
            if self._peek() == ",":
                self.at += 1
                continue
            self._record((*path, index))
            self._value((*path, index))
            index += 1
        self.at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while self._skip_space() and self._peek() != "}":
            if self._peek() == ",":
                self.at += 1
                continue
            self._pair(path)
        self.at += 1

    def _string(self) -> None:
        quote = self._peek()
        is_long = self.content.startswith(quote * 3, self.at)
        end = quote * 3 if is_long else quote
        self.at += len(end)
        while not self.content.startswith(end, self.at):
            self.at += 2 if self._peek() == "\\" and quote == '"' else 1
        self.at += len(end)
        # A long string may end in one or two quotes of its own.
        while is_long and self._peek() == quote:
            self.at += 1


def _unquote(text: str) -> str:
    return str(next(iter(tomllib.loads(f"{text} = 1"))))
