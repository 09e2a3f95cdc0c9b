"""How two builds of one variant differ, in words. Pure: bytes in, sentences out."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.binary import elf
from kernelmill.binary.errors import BinaryError
from kernelmill.binary.symbols import read_exports, read_linkage
from kernelmill.spec.digest import METADATA_FILE, UNCOVERED_FILES
from kernelmill.spec.reader import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PATH: Final = re.compile(rb"(?<![\w./@-])/(?:[\w.+@-]+/)+[\w.+@-]+")
_TIME: Final = re.compile(
    rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d{4}"
    rb"|(?<![\d:])\d\d:\d\d:\d\d(?![\d:])|(?<!\d)20\d\d-\d\d-\d\dT?(?!\d)"
)
_MOST: Final = 5
"""Of one kind in one sentence."""
_OF_THE_BUILDER: Final = (("provenance", "kernel-builder"), ("kernelmill", "inputs", "kernelmill"))
"""Keys of the metadata that say which builder it was: another one may make the same files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One file that is not the same in both builds."""

    path: str
    words: tuple[str, ...]
    """What differs, one sentence each."""
    is_builder_only: bool = False
    """Whether it only says that another version of the builder was used."""


def compare_builds(
    recorded: Mapping[str, bytes], rebuilt: Mapping[str, bytes]
) -> tuple[Difference, ...]:
    """Return one difference for each file; signatures are left out.

    Args:
        recorded: path -> content of the build that is to be reproduced.
        rebuilt: the same of the new one.
    """
    found = []
    for path in sorted({*recorded, *rebuilt}):
        old, new = recorded.get(path), rebuilt.get(path)
        if old == new or (path in UNCOVERED_FILES and path != METADATA_FILE):
            continue
        if old is None or new is None:
            side = "rebuilt" if old is None else "recorded"
            found.append(Difference(path=path, words=(f"only the {side} build has it",)))
        else:
            found.append(_compare(path, old, new))
    return tuple(found)


def _compare(path: str, old: bytes, new: bytes) -> Difference:
    if path == METADATA_FILE:
        return _compare_metadata(old, new)
    words = [*(_elf_words(old, new) if elf.is_elf(old) and elf.is_elf(new) else ())]
    words += _embedded("path", _PATH, old, new)
    words += _embedded("time", _TIME, old, new)
    return Difference(path=path, words=tuple(words) or tuple(_text_words(old, new)))


def _elf_words(old: bytes, new: bytes) -> Iterator[str]:
    try:
        first, second = elf.parse(old, where="recorded"), elf.parse(new, where="rebuilt")
        yield from _section_words(first, second)
        yield from _one_sided("symbol", _symbols(first), _symbols(second))
    except BinaryError as error:
        yield f"the {error.where} file is no whole ELF file: {error.problem}"


def _section_words(first: elf.Elf, second: elf.Elf) -> Iterator[str]:
    left = {it.name: first.content(it) for it in first.sections if it.name}
    right = {it.name: second.content(it) for it in second.sections if it.name}
    for name in sorted({*left} & {*right}):
        old, new = left[name], right[name]
        if old != new:
            count = sum(a != b for a, b in zip(old, new, strict=False)) + abs(len(old) - len(new))
            yield f"section {name} differs in {count} of {max(len(old), len(new))} bytes"
    yield from _one_sided("section", {*left}, {*right})


def _symbols(file: elf.Elf) -> set[str]:
    undefined = {f"{it.name} (undefined)" for it in read_linkage(file).undefined}
    return undefined | {it.name for it in read_exports(file)}


def _embedded(what: str, pattern: re.Pattern[bytes], old: bytes, new: bytes) -> Iterator[str]:
    left, right = ({it.decode("ascii", "replace") for it in pattern.findall(x)} for x in (old, new))
    yield from _one_sided(what, left, right)


def _one_sided(what: str, left: set[str], right: set[str]) -> Iterator[str]:
    for side, names in (("recorded", left - right), ("rebuilt", right - left)):
        if names:
            some = ", ".join(shown(it) for it in sorted(names)[:_MOST])
            more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
            plural = "s" if len(names) > 1 else ""
            yield f"only the {side} file has the {what}{plural} {some}{more}"


def _text_words(old: bytes, new: bytes) -> Iterator[str]:
    left, right = old.splitlines(), new.splitlines()
    for number, (a, b) in enumerate(zip(left, right, strict=False), 1):
        if a != b:
            first, second = (shown(it.decode("utf-8", "replace")) for it in (a, b))
            yield f"line {number} is {first} in the recorded file, {second} in the rebuilt one"
            return
    yield f"the recorded file has {len(old)} bytes, the rebuilt one {len(new)}"


def _compare_metadata(old: bytes, new: bytes) -> Difference:
    try:
        left, right = _leaves(json.loads(old)), _leaves(json.loads(new))
    except ValueError:
        return Difference(path=METADATA_FILE, words=tuple(_text_words(old, new)))
    keys = [it for it in sorted({*left, *right}) if left.get(it) != right.get(it)]
    words = [
        f"{'.'.join(it)} is {shown(left.get(it))} in the recorded file, "
        f"{shown(right.get(it))} in the rebuilt one"
        for it in keys
    ]
    return Difference(
        path=METADATA_FILE,
        words=tuple(words) or ("it is written in another way",),
        is_builder_only=bool(keys)
        and all(any(key[: len(it)] == it for it in _OF_THE_BUILDER) for key in keys),
    )


def _leaves(value: object, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    if not isinstance(value, dict):
        return {path: value}
    found: dict[tuple[str, ...], object] = {}
    for key, each in value.items():
        found |= _leaves(each, (*path, str(key)))
    return found
