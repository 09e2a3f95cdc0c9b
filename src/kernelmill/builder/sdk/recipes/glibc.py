"""Which symbols each release of glibc has: read from the list that zig carries.

Format (``lib/libc/glibc/abilists`` of zig, made by its glibc-abi-tool): names of the libraries,
versions and targets; then inclusions of functions, of objects, and of thread-local objects. An
inclusion says for which targets a name is in which library, since which versions. Numbers are one
byte, counts two (little-endian), sets of targets and sizes LEB128; the highest bit of a library's
byte ends a name's inclusions, that of a version's byte ends its versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.stub import FUNCTION, OBJECT, TLS, StubSymbol

if TYPE_CHECKING:
    from collections.abc import Iterator

_LAST: Final = 0x80

Version = tuple[int, int, int]


@dataclass(slots=True)
class _Cursor:
    data: bytes
    position: int = 0

    def byte(self) -> int:
        self.position += 1
        return self.data[self.position - 1]

    def count(self) -> int:
        return self.byte() | self.byte() << 8

    def leb128(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < _LAST:
                return value
            shift += 7

    def text(self) -> str:
        end = self.data.index(0, self.position)
        text = self.data[self.position : end].decode("ascii")
        self.position = end + 1
        return text


def read_glibc(
    content: bytes, *, target: str, newest: tuple[int, int]
) -> dict[str, tuple[StubSymbol, ...]]:
    """Return library, such as ``pthread`` -> its symbols in the release ``newest``.

    Each symbol is there once per version, and the newest version is the default.

    Args:
        content: the file.
        target: ``x86_64-linux-gnu``.
        newest: the release.

    Raises:
        SdkError: the file has another format, or does not know the target.
    """
    try:
        return _read(_Cursor(content), target, (*newest, 0))
    except (IndexError, ValueError) as error:
        raise SdkError(
            f"zig's list of glibc's symbols has another format than ours: {error}",
            hint="use the version of ziglang that data/sdks.toml names",
        ) from error


def _read(cursor: _Cursor, target: str, newest: Version) -> dict[str, tuple[StubSymbol, ...]]:
    libraries = [cursor.text() for _ in range(cursor.byte())]
    versions: list[Version] = [
        (cursor.byte(), cursor.byte(), cursor.byte()) for _ in range(cursor.byte())
    ]
    targets = [cursor.text() for _ in range(cursor.byte())]
    bit = 1 << targets.index(target)
    found: dict[str, list[StubSymbol]] = {name: [] for name in libraries}
    for kind in (FUNCTION, OBJECT, TLS):
        for name, is_for, size, library, since in _inclusions(cursor, has_size=kind != FUNCTION):
            known = sorted(versions[it] for it in since if versions[it] <= newest)
            if is_for & bit and known:
                found[libraries[library]] += [
                    StubSymbol(name, _spell(it), kind, size=size, is_default=it == known[-1])
                    for it in known
                ]
    if cursor.position != len(cursor.data):
        raise ValueError(f"{len(cursor.data) - cursor.position} bytes are left over")
    return {name: tuple(sorted(symbols)) for name, symbols in found.items()}


def _inclusions(
    cursor: _Cursor, *, has_size: bool
) -> Iterator[tuple[str, int, int, int, list[int]]]:
    """Yield name, set of targets, size, library and versions of each inclusion."""
    is_last, name = True, ""
    for _ in range(cursor.count()):
        if is_last:
            name = cursor.text()
        targets = cursor.leb128()
        size = cursor.leb128() if has_size else 0
        library = cursor.byte()
        is_last = library >= _LAST
        since = [cursor.byte()]
        while since[-1] < _LAST:
            since.append(cursor.byte())
        yield name, targets, size, library & ~_LAST, [*since[:-1], since[-1] & ~_LAST]


def _spell(version: Version) -> str:
    numbers = version if version[2] else version[:2]
    return f"GLIBC_{'.'.join(map(str, numbers))}"
