"""A bounded memory for things that never change."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Key = TypeVar("Key", bound="Hashable")
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """Keep the most recently used values, up to a total weight. Safe to share between threads."""

    def __init__(self, max_weight: int, weigh: Callable[[Value], int] = lambda _: 1) -> None:
        self._max_weight = max_weight
        self._weigh = weigh
        self._weight = 0
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        """Return the value kept under ``key``, if it still is."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: Key, value: Value) -> Value:
        """Keep ``value``, dropping what was used longest ago, and return it."""
        with self._lock:
            if key in self._entries:
                self._weight -= self._weigh(self._entries.pop(key))
            self._entries[key] = value
            self._weight += self._weigh(value)
            while self._weight > self._max_weight and len(self._entries) > 1:
                _, dropped = self._entries.popitem(last=False)
                self._weight -= self._weigh(dropped)
            return value

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value under ``key``, made if needed (perhaps twice, by two threads)."""
        value = self.get(key)
        return self.put(key, make()) if value is None else value
