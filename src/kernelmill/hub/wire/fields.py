"""Typed reading of JSON bodies: the wrong type is one clear error, never a crash."""

from __future__ import annotations

import json
from typing import TypeVar

from kernelmill.hub.errors import InvalidRequest

Kind = TypeVar("Kind", str, bool, int)


def parse_json(text: bytes, *, where: str) -> object:
    """Read JSON.

    Raises:
        InvalidRequest: it is malformed; names ``where``.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"not valid JSON: {error}", where=where) from error
    return value


class Fields:
    """A JSON object whose fields are read by name and type."""

    def __init__(self, value: object, *, where: str) -> None:
        if not isinstance(value, dict):
            raise InvalidRequest("must be a JSON object", where=where)
        self._values: dict[str, object] = value
        self._where = where

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string; ``default`` when absent or null."""
        return self._checked(key, self._get(key, str, default))

    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        return self._get(key, bool, default)

    def number(self, key: str) -> int:
        """Return a whole number, not below 0 and not beyond a database's largest."""
        number = self._get(key, int, None)
        if isinstance(number, bool) or not 0 <= number < 1 << 63:
            raise InvalidRequest(f"{key!r} must be a whole number", where=self._where)
        return number

    def texts(self, key: str) -> list[str]:
        """Return a list of strings; empty when absent."""
        items = self._list(key)
        if not all(isinstance(item, str) for item in items):
            raise InvalidRequest(f"{key!r} must be a list of strings", where=self._where)
        return [self._checked(key, str(item)) for item in items]

    def objects(self, key: str) -> list[Fields]:
        """Return a list of objects; empty when absent."""
        return [
            Fields(item, where=f"{self._where} {key}[{i}]")
            for i, item in enumerate(self._list(key))
        ]

    def nested(self, key: str) -> Fields:
        """Return a nested object."""
        return Fields(self._values.get(key), where=f"{self._where} {key}")

    def has(self, key: str) -> bool:
        """Say whether the field is there and not null."""
        return self._values.get(key) is not None

    def _checked(self, key: str, text: str) -> str:
        """Refuse what JSON can say, and neither a database nor a reply can hold."""
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidRequest(f"{key!r} holds half a surrogate pair", where=self._where)
        return text

    def _list(self, key: str) -> list[object]:
        value = self._values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise InvalidRequest(f"{key!r} must be a list", where=self._where)
        return value

    def _get(self, key: str, kind: type[Kind], default: Kind | None) -> Kind:
        value = self._values.get(key)
        if value is None:
            value = default
        if value is None:
            raise InvalidRequest(f"{key!r} is missing", where=self._where)
        if not isinstance(value, kind):
            raise InvalidRequest(f"{key!r} must be a {kind.__name__}", where=self._where)
        return value
