"""A read-only mapping from what is asked for, as the lock files of ``kernels._rust`` are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, overload

from kernelmill.runtime.upstream.dependencies import KernelDependency
from kernelmill.runtime.upstream.text import spell

if TYPE_CHECKING:
    from collections.abc import Iterator

V = TypeVar("V")
D = TypeVar("D")


class ByDependency(Generic[V]):
    """A mapping in the order of its keys; equal to another of its class with the same items."""

    VALUES: ClassVar[type]
    """The class of its values."""

    def __init__(self, items: dict[KernelDependency, V], argument: str) -> None:
        if not isinstance(items, dict):
            raise _wrong(argument, items, "dict")
        for key, value in items.items():
            if not isinstance(key, KernelDependency):
                raise _wrong(argument, key, "KernelDependency")
            if not isinstance(value, self.VALUES):
                raise _wrong(argument, value, self.VALUES.__name__)
        self._items = dict(sorted(items.items(), key=lambda item: item[0].order))

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, dependency: KernelDependency, /) -> V:
        if not isinstance(dependency, KernelDependency):
            raise _wrong("dependency", dependency, "KernelDependency")
        if dependency not in self._items:
            raise KeyError(repr(dependency))
        return self._items[dependency]

    def __contains__(self, dependency: object, /) -> bool:
        return dependency in self._items

    def __iter__(self) -> Iterator[KernelDependency]:
        return iter(self._items)

    @overload
    def get(self, dependency: KernelDependency, default: None = None) -> V | None: ...
    @overload
    def get(self, dependency: KernelDependency, default: D) -> V | D: ...
    def get(self, dependency: KernelDependency, default: D | None = None) -> V | D | None:
        """Return what ``dependency`` is mapped to, or ``default``."""
        return self._items.get(dependency, default)

    def keys(self) -> list[KernelDependency]:
        """Return the dependencies."""
        return list(self._items)

    def values(self) -> list[V]:
        """Return what they are mapped to."""
        return list(self._items.values())

    def items(self) -> list[tuple[KernelDependency, V]]:
        """Return the pairs."""
        return list(self._items.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._items == other._items

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({spell(self._items)})"


def _wrong(argument: str, value: object, wants: str) -> TypeError:
    kind = type(value).__name__
    return TypeError(f"argument '{argument}': '{kind}' object cannot be converted to '{wants}'")
