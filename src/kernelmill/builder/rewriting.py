"""Brings the text of ``build.toml`` to the newest edition; comments and layout stay."""

from __future__ import annotations

import copy
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, assert_never

import tomlkit
from tomlkit.container import Container, OutOfOrderTableProxy
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item, SingleKey

from kernelmill.spec import manifest as manifest_format
from kernelmill.spec.editions.edits import Copy, Move, Put, Remove
from kernelmill.spec.errors import ManifestError

if TYPE_CHECKING:
    from kernelmill.spec.editions.edits import Edit, KeyNames
    from kernelmill.spec.manifest import Reading

# NOTE: tomlkit has no public way to rename a key in its place, to insert behind another, or to
# reach the pieces of a table that is written in several: hence the few names with an underscore.

_Part = MutableMapping[str, Any]
"""A table, or the whole."""


def rewrite(text: str, reading: Reading) -> str | None:
    """Return ``text`` in the newest edition; ``None`` where its layout does not allow the changes.

    What comes back was read again, and says what it should.

    Args:
        text: of a manifest.
        reading: what was read from it.
    """
    try:
        document = tomlkit.parse(text)
        for edit in reading.edits:
            _apply(document, edit)
        rewritten = _with_line_ends_of(text, tomlkit.dumps(document))
        again = manifest_format.read(rewritten)
    except (TOMLKitError, ManifestError, KeyError, TypeError, AttributeError, IndexError):
        # tomlkit knows most of TOML's spellings, not every one; the caller has another way.
        return None
    return rewritten if again.manifest == reading.manifest and not again.edits else None


def _with_line_ends_of(text: str, rewritten: str) -> str:
    """Write new lines as the others are, where all of those end as on Windows."""
    if not text.count("\n") or text.count("\n") != text.count("\r\n"):
        return rewritten
    return rewritten.replace("\r\n", "\n").replace("\n", "\r\n")


def _apply(document: tomlkit.TOMLDocument, edit: Edit) -> None:
    match edit:
        case Put(path, value):
            _put(document, path, value)
        case Remove(path):
            _holder(_table(document, path[:-1]), path[-1]).remove(path[-1])
        case Move(path, to):
            _move(document, path, to)
        case Copy(path, name):
            holder = _holder(_table(document, path[:-1]), path[-1])
            twin = _named_anew(copy.deepcopy(_item(holder, path[-1])))
            holder._insert_after(path[-1], SingleKey(name), twin)
        case _:
            assert_never(edit)


def _put(
    document: tomlkit.TOMLDocument, path: KeyNames, value: str | int | tuple[str, ...] | None
) -> None:
    table, key = _table(document, path[:-1]), path[-1]
    if value is None:
        table[key] = tomlkit.table()
        return
    new = tomlkit.item(list(value) if isinstance(value, tuple) else value)
    if key in table:
        holder = _holder(table, key)
        trivia = _item(holder, key).trivia
        new.trivia.comment_ws, new.trivia.comment = trivia.comment_ws, trivia.comment
        holder[key] = new
    else:
        _append(table, key, new)


def _append(table: _Part, key: str, new: Item) -> None:
    """Write a new key behind the last key of a table, before the space and what follows it."""
    holder = _holder(table, key)
    plain = [it for it, value in holder.body if it and not _is_table(value)]
    if plain and not plain[-1].is_dotted():
        holder._insert_after(plain[-1], SingleKey(key), new)
    else:
        table[key] = new


def _move(document: tomlkit.TOMLDocument, path: KeyNames, to: KeyNames) -> None:
    holder = _holder(_table(document, path[:-1]), path[-1])
    value = _item(holder, path[-1])
    if path[:-1] == to[:-1]:
        holder._replace(path[-1], to[-1], _named_anew(value))
        return
    holder.remove(path[-1])
    _append(_table(document, to[:-1]), to[-1], value)


def _table(document: tomlkit.TOMLDocument, path: KeyNames) -> _Part:
    table: _Part = document
    for key in path:
        if key not in table:
            new = tomlkit.table()
            new.add(tomlkit.nl())  # an empty line before what follows
            table[key] = new
        table = table[key]
    return table


def _holder(table: _Part, key: str) -> Container:
    """Return the part of a table that has, or would get, ``key``: a table may be in pieces."""
    if isinstance(table, OutOfOrderTableProxy):
        pieces = table._tables
        table = next((it for it in pieces if key in it), pieces[0])
    container = table if isinstance(table, Container) else getattr(table, "value", None)
    if not isinstance(container, Container):
        raise TypeError(f"{key} is in no table")
    return container


def _item(holder: Container, key: str) -> Item:
    item = holder.item(key)
    if not isinstance(item, Item):
        raise TypeError(f"{key} is in pieces")
    return item


def _named_anew(value: Item) -> Item:
    """Forget the header that a table was read with, so that its new name is written."""
    if isinstance(value, tomlkit.items.Table | tomlkit.items.AoT):
        value.invalidate_display_name()
    return value


def _is_table(value: Item) -> bool:
    return isinstance(value, tomlkit.items.Table | tomlkit.items.AoT)
