"""Changes to a TOML document, as values. An old edition is read, and rewritten, by the same."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KeyNames = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Put:
    """Write ``value`` at ``path``, whatever was there; tables on the way are made."""

    path: KeyNames
    value: str | int | tuple[str, ...] | None
    """``None`` stands for an empty table."""

    def __str__(self) -> str:
        shown = "an empty table" if self.value is None else _toml(self.value)
        return f"set {'.'.join(self.path)} to {shown}"


@dataclass(frozen=True, slots=True)
class Remove:
    """Take away ``path`` and all below it."""

    path: KeyNames

    def __str__(self) -> str:
        return f"remove {'.'.join(self.path)}"


@dataclass(frozen=True, slots=True)
class Move:
    """Give what is at ``path`` the path ``to``, where nothing is."""

    path: KeyNames
    to: KeyNames

    def __str__(self) -> str:
        return f"rename {'.'.join(self.path)} to {'.'.join(self.to)}"


@dataclass(frozen=True, slots=True)
class Copy:
    """Write what is at ``path`` once more, behind it in the same table, under another name."""

    path: KeyNames
    name: str

    @property
    def to(self) -> KeyNames:
        """The path of the copy."""
        return (*self.path[:-1], self.name)

    def __str__(self) -> str:
        return f"copy {'.'.join(self.path)} to {'.'.join(self.to)}"


Edit = Put | Remove | Move | Copy


def _toml(value: str | int | tuple[str, ...]) -> str:
    match value:
        case tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case int():
            return str(value)
        case _:
            return f'"{value}"'


def apply(document: Mapping[str, Any], edits: Iterable[Edit]) -> dict[str, Any]:
    """Return ``document`` with the changes, which are made one after another."""
    result = copy.deepcopy(dict(document))
    for edit in edits:
        _apply(result, edit)
    return result


def _apply(document: dict[str, Any], edit: Edit) -> None:
    match edit:
        case Put(path, value):
            _parent(document, path)[path[-1]] = _plain(value)
        case Remove(path):
            del _parent(document, path)[path[-1]]
        case Move(path, to):
            _parent(document, to)[to[-1]] = _parent(document, path).pop(path[-1])
        case Copy(path, name):
            _insert_copy(_parent(document, path), path[-1], name)
        case _:
            assert_never(edit)


def _insert_copy(table: dict[str, Any], key: str, name: str) -> None:
    for it in list(table):
        value = table.pop(it)
        table[it] = value
        if it == key:
            table[name] = copy.deepcopy(value)


def _plain(value: str | int | tuple[str, ...] | None) -> object:
    """Return what a reader of TOML would."""
    if value is None:
        return {}
    return list(value) if isinstance(value, tuple) else value


def _parent(document: dict[str, Any], path: KeyNames) -> dict[str, Any]:
    table = document
    for key in path[:-1]:
        table = table.setdefault(key, {})
    return table


def origin(path: tuple[str | int, ...], edits: Iterable[Edit]) -> tuple[str | int, ...]:
    """Return where what is at ``path`` after the edits was before them."""
    for edit in reversed(tuple(edits)):
        if isinstance(edit, Move | Copy) and path[: len(edit.to)] == edit.to:
            path = (*edit.path, *path[len(edit.to) :])
    return path
