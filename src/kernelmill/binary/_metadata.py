"""Typed access to a decoded MessagePack map: each missing or mistyped key is one clear error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.binary._window import Window
    from kernelmill.binary.errors import BinaryError
    from kernelmill.binary.msgpack import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """One map of the metadata."""

    values: Mapping[str, Value]
    window: Window
    what: str

    @classmethod
    def of(cls, value: Value, *, window: Window, what: str) -> Fields:
        """Return ``value`` as a map with text keys."""
        if not isinstance(value, dict):
            raise window.fault(f"{what} is not a map")
        texts = {key: held for key, held in value.items() if isinstance(key, str)}
        return cls(values=texts, window=window, what=what)

    def text(self, key: str, *, default: str | None = None) -> str:
        """Return the text at ``key``."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self._fault(key, "text")
        return value

    def number(self, key: str, *, default: int | None = None) -> int:
        """Return the whole number, 0 or more, at ``key``; a boolean counts as 0 or 1."""
        value = self.values.get(key, default)
        if not isinstance(value, int) or value < 0:
            raise self._fault(key, "a number")
        return value

    def records(self, key: str, *, default: tuple[()] | None = None) -> tuple[Fields, ...]:
        """Return the maps of the list at ``key``."""
        value = self.values.get(key, None if default is None else [])
        if not isinstance(value, list):
            raise self._fault(key, "a list")
        return tuple(
            Fields.of(held, window=self.window, what=f"{self.what} {key}[{index}]")
            for index, held in enumerate(value)
        )

    def _fault(self, key: str, wanted: str) -> BinaryError:
        found = repr(self.values[key]) if key in self.values else "missing"
        return self.window.fault(f"{self.what} {key} is {found}, want {wanted}")
