"""Typed reading of untyped documents: the one place where values have no type yet.

A ``Table`` is one object of a TOML or JSON document together with its place. Its getters convert,
and every mistake goes to a shared ``Faults``, so that one run reports all of them. Keys that were
never asked for are reported, with the nearest known key, by ``reject_unknown``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from operator import itemgetter
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kernelmill.spec.errors import InputError, KernelError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from kernelmill.spec.toml_lines import KeyPath

T = TypeVar("T")
Convert = Callable[[Any, "Place"], T]


MAX_FAULTS: Final = 1000
MAX_TEXT: Final = 65_536
"""Most characters of one value. A license, a path or a line of a compiler has some hundred."""
MAX_SHOWN: Final = 200
MAX_NATURAL: Final = 2**63 - 1


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; refuse what two readers would read as two different things.

    Raises:
        ValueError: a key is given twice.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"key {shown(name)} is given twice")
            seen.add(name)
    return values


def shown(value: object) -> str:
    """Return a value as messages show it: on one line, and not all of a long one."""
    if isinstance(value, int) and value.bit_length() > MAX_SHOWN:
        return f"a number of {value.bit_length()} bits"  # has no decimal digits, for Python
    return repr(value) if isinstance(value, str) and len(value) <= MAX_SHOWN else _SHORT.repr(value)


def dotted(path: KeyPath) -> str:
    """Write a key path as a person would: ``kernel.gemm.src[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        name = part if len(part) <= MAX_SHOWN else f"{part[:MAX_SHOWN]}..."
        text += f".{name}" if text else name
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """The mistakes found so far in one document."""

    file: str
    lines: Mapping[KeyPath, int]
    """Key path -> line, for as many as are known."""
    moved: Callable[[KeyPath], KeyPath] = lambda path: path
    """Where in the file what is read at a path was; the same place, as a rule."""
    _found: list[tuple[int, KernelError]] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Whether there are so many that nobody needs more: a document may hold millions."""
        return len(self._found) >= MAX_FAULTS

    def line(self, path: KeyPath) -> int:
        """Return the line of ``path``, or of its nearest known parent, or 0."""
        return self._line(self.moved(path))

    def _line(self, path: KeyPath) -> int:
        known = (self.lines.get(path[:size]) for size in range(len(path), 0, -1))
        return next((it for it in known if it is not None), 0)

    def where(self, path: KeyPath) -> str:
        """Return ``file:line key.path``."""
        path = self.moved(path)
        line = self._line(path)
        at = f"{self.file}:{line}" if line else self.file
        return f"{at} {dotted(path)}".rstrip()

    def add(self, path: KeyPath, problem: str, hint: str = "") -> None:
        """Record a mistake."""
        self.record(path, InputError(problem, where=self.where(path), hint=hint))

    def record(self, path: KeyPath, error: KernelError) -> None:
        """Record a mistake that was raised as an error."""
        if not self.is_full:
            self._found.append((self.line(path), error))

    @property
    def found(self) -> tuple[KernelError, ...]:
        """The mistakes, in the file's order; each once, also where two readers met it."""
        by_text = {str(error): error for _, error in sorted(self._found, key=itemgetter(0))}
        return tuple(by_text.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a value is, for the converter that reads it."""

    path: KeyPath
    faults: Faults

    def __str__(self) -> str:
        return self.faults.where(self.path)

    def item(self, key: str | int) -> Place:
        """Return the place of a value inside this one."""
        return Place(path=(*self.path, key), faults=self.faults)

    def fail(self, problem: str, hint: str = "") -> InputError:
        """Return the error to raise for a value here."""
        return InputError(problem, where=str(self), hint=hint)


def attempt(convert: Convert[T], value: object, place: Place, stand_in: T) -> T:
    """Convert ``value``; record a mistake and give ``stand_in`` when that fails."""
    if place.faults.is_full:
        return stand_in
    try:
        return convert(value, place)
    except KernelError as error:
        place.faults.record(place.path, error)
        return stand_in


class Table:
    """One object of a document, read key by key."""

    def __init__(self, values: Mapping[str, Any], place: Place) -> None:
        self.place = place
        self._values = values
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys that are present, in the document's order."""
        return iter(self._values)

    def required(self, key: str, convert: Convert[T], *, stand_in: T, hint: str = "") -> T:
        """Read a key that must be there.

        After a mistake the result is ``stand_in``, so that reading can go on to the next mistake;
        the caller must not use the whole once ``Faults`` is not empty.
        """
        if key not in self._values:
            self._known.append(key)
            self.place.faults.add(self.place.path, f"missing key {shown(key)}", hint)
            return stand_in
        return self.optional(key, convert, default=stand_in)

    def optional(self, key: str, convert: Convert[T], *, default: T) -> T:
        """Read a key that may be left out."""
        self._known.append(key)
        if key not in self._values:
            return default
        return attempt(convert, self._values[key], self.place.item(key), default)

    def table(self, key: str) -> Table | None:
        """Return the table below ``key``, or ``None`` when there is none."""
        self._known.append(key)
        if key not in self._values:
            return None
        return attempt(table, self._values[key], self.place.item(key), None)

    def reject_unknown(self, hints: Mapping[str, str] | None = None) -> None:
        """Record every key that was not asked for. ``hints`` explains particular ones."""
        known = set(self._known)
        for key in self._values:
            if self.place.faults.is_full:
                return
            if key not in known:
                hint = (hints or {}).get(key) or _known_hint(key, self._known)
                self.place.faults.add(self.place.item(key).path, f"unknown key {shown(key)}", hint)


def _known_hint(key: str, known: Sequence[str]) -> str:
    return did_you_mean(key, known) or f"allowed here: {', '.join(sorted(known))}"


def allowed_hint(word: str, allowed: Sequence[str]) -> str:
    """Return the nearest allowed word, if any is near, and all of them."""
    return f"{did_you_mean(word, allowed)} allowed: {', '.join(allowed)}".strip()


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return a question with the nearest known word, or nothing."""
    if len(word) > MAX_SHOWN:
        return ""  # a search that would take minutes
    spelt = word.lower()
    near = get_close_matches(spelt, known, n=1)
    near = near or get_close_matches(spelt.replace("_", "-"), known, n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def table(value: object, place: Place) -> Table:
    """Read an object."""
    if not isinstance(value, Mapping):
        raise _wrong_type("a table", value, place)
    return Table(value, place)


def text(value: object, place: Place) -> str:
    """Read a string that is not empty."""
    if not isinstance(value, str):
        raise _wrong_type("a string", value, place)
    if len(value) > MAX_TEXT:
        raise place.fail(f"a string of {len(value)} characters", f"write at most {MAX_TEXT}")
    if not value.strip():
        raise place.fail("empty string", "write a value or remove the key")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise place.fail("holds half a surrogate pair", "write text")
    return value


def natural(value: object, place: Place) -> int:
    """Read a whole number from 0 on."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong_type("a whole number", value, place)
    if value < 0:
        raise place.fail(f"{shown(value)} is negative", "write a whole number from 0 on")
    if value > MAX_NATURAL:
        raise place.fail(f"{shown(value)} is too large", f"write at most {MAX_NATURAL}")
    return value


def boolean(value: object, place: Place) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise _wrong_type("true or false", value, place)
    return value


def each(
    convert: Convert[T], *, key: Callable[[T], object] | None = None
) -> Convert[tuple[T, ...]]:
    """Return a reader of arrays of what ``convert`` reads.

    Two items with the same ``key`` are a mistake; by default two equal items.
    """

    def read(value: object, place: Place) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise _wrong_type("an array", value, place)
        items: dict[object, T] = {}
        for index, raw in enumerate(value):
            if place.faults.is_full:
                break
            at = place.item(index)
            item = attempt(convert, raw, at, None)
            if item is None:
                continue
            identity = key(item) if key else item
            if identity in items:
                at.faults.add(
                    at.path, f"{shown(str(identity))} is listed twice", "keep one of the two"
                )
            items.setdefault(identity, item)
        return tuple(items.values())

    return read


def or_null(convert: Convert[T]) -> Convert[T | None]:
    """Return a reader that lets ``null`` stand for a key that is left out."""
    return lambda value, place: None if value is None else convert(value, place)


def choice(what: str, allowed: Sequence[T]) -> Convert[T]:
    """Return a reader of one of the ``allowed`` strings; ``what`` names their kind."""

    def read(value: object, place: Place) -> T:
        word = text(value, place)
        for it in allowed:
            if it == word:
                return it
        raise place.fail(
            f"unknown {what} {shown(word)}", allowed_hint(word, tuple(map(str, allowed)))
        )

    return read


def parsed(parse: Callable[..., T]) -> Convert[T]:
    """Return a reader of strings for ``parse(text, where=...)``."""

    def read(value: object, place: Place) -> T:
        return parse(text(value, place), where=str(place))

    return read


def _wrong_type(wants: str, value: object, place: Place) -> InputError:
    return place.fail(f"{shown(value)} is {_type_name(value)}", f"write {wants}")


def _short_repr() -> Repr:
    """Return a repr for values from files, which may be long and deep beyond all sense."""
    short = Repr()
    short.maxstring = short.maxother = short.maxlong = 80
    return short


_SHORT: Final = _short_repr()


_TYPE_NAMES: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    (bool, "true or false"),  # before int, which it is too
    ((int, float), "a number"),
    (str, "a string"),
    (list, "an array"),
    (Mapping, "a table"),
    (type(None), "null"),
    (object, "a date or time"),
)


def _type_name(value: object) -> str:
    return next(name for kind, name in _TYPE_NAMES if isinstance(value, kind))
