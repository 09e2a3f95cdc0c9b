"""Which lines of a source a ROCm build compiles, as far as the preprocessor's conditions tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

Truth = bool | None
"""``None``: it depends on something that is not known here."""

_DIRECTIVE: Final = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)")
_TOKEN: Final = re.compile(r"&&|\|\||[=!<>]=|[()!<>]|\w+|\S")
_COMPARISONS: Final = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}


def both(left: Truth, right: Truth) -> Truth:
    """Return whether both hold."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def negate(value: Truth) -> Truth:
    """Return the contrary."""
    return None if value is None else not value


class Macros:
    """What is known of macros: these are defined, as 1 if anything, and those are not."""

    def __init__(self, defined: Iterable[str], undefined: Iterable[str]) -> None:
        self._values = {**dict.fromkeys(undefined, 0), **dict.fromkeys(defined, 1)}

    def is_defined(self, name: str) -> Truth:
        """Return whether the preprocessor knows ``name``."""
        value = self._values.get(name)
        return None if value is None else bool(value)

    def holds(self, expression: str) -> Truth:
        """Return the truth of what stands behind ``#if``."""
        reader = _Reader(_TOKEN.findall(expression), self)
        value = reader.read_any()
        return None if reader.rest else value

    def number(self, word: str) -> int | None:
        """Return the value of a number, or of a macro that is not defined: 0."""
        if word.isdecimal():
            return int(word)
        return 0 if self.is_defined(word) is False else None


class _Reader:
    """Reads an expression from left to right; what it does not understand is unknown."""

    def __init__(self, tokens: list[str], macros: Macros) -> None:
        self.rest = tokens[::-1]
        self._macros = macros

    def read_any(self) -> Truth:
        """Read operands of ``||``."""
        value = self._read_all()
        while self._take("||"):
            value = negate(both(negate(value), negate(self._read_all())))
        return value

    def _read_all(self) -> Truth:
        value = self._read_one()
        while self._take("&&"):
            value = both(value, self._read_one())
        return value

    def _read_one(self) -> Truth:
        if self._take("!"):
            return negate(self._read_one())
        if self._take("("):
            value = self.read_any()
            self._take(")")
            return value
        if self._take("defined"):
            return self._macros.is_defined(self._read_name())
        return self._read_comparison(self._next())

    def _read_name(self) -> str:
        is_wrapped = self._take("(")
        name = self._next()
        if is_wrapped:
            self._take(")")
        return name

    def _read_comparison(self, word: str) -> Truth:
        left = self._macros.number(word)
        compare = _COMPARISONS.get(self.rest[-1]) if self.rest else None
        if compare is None:
            return self._macros.is_defined(word) if left is None else bool(left)
        self._next()
        right = self._macros.number(self._next())
        return None if left is None or right is None else compare(left, right)

    def _take(self, token: str) -> bool:
        if self.rest and self.rest[-1] == token:
            self.rest.pop()
            return True
        return False

    def _next(self) -> str:
        return self.rest.pop() if self.rest else ""


class _Group:
    """One ``#if`` with its ``#elif`` and ``#else``."""

    def __init__(self, condition: Truth) -> None:
        self.current = condition
        self._before = condition

    def start_branch(self, condition: Truth) -> None:
        """Go on to the next branch: it is taken where its condition holds and none before did."""
        self.current = both(negate(self._before), condition)
        self._before = negate(both(negate(self._before), negate(condition)))


def compiled_lines(lines: list[str], macros: Macros) -> list[Truth]:
    """Return for each line whether it is compiled. Directives themselves are never said to be."""
    groups: list[_Group] = []
    result: list[Truth] = []
    for line in lines:
        match = _DIRECTIVE.match(line)
        if match is None:
            value: Truth = True
            for group in groups:
                value = both(value, group.current)
            result.append(value)
            continue
        result.append(False)
        _follow(match[1], match[2], groups, macros)
    return result


def _follow(word: str, rest: str, groups: list[_Group], macros: Macros) -> None:
    name = rest.strip().partition(" ")[0]
    if word == "if":
        groups.append(_Group(macros.holds(rest)))
    elif word == "ifdef":
        groups.append(_Group(macros.is_defined(name)))
    elif word == "ifndef":
        groups.append(_Group(negate(macros.is_defined(name))))
    elif groups and word == "elif":
        groups[-1].start_branch(macros.holds(rest))
    elif groups and word == "else":
        groups[-1].start_branch(True)
    elif groups:
        groups.pop()
