"""Decode MessagePack, in which AMD code objects keep their notes. Extension types are refused.

Format: https://github.com/msgpack/msgpack/blob/master/spec.md
"""

from __future__ import annotations

from struct import Struct
from typing import Final, TypeAlias

from kernelmill.binary._window import Window

Key: TypeAlias = bool | int | float | str | bytes
Value: TypeAlias = "Key | list[Value] | dict[Key, Value] | None"

DEEPEST: Final = 32
"""Containers within containers; a code object's notes have 5."""

CONSTANTS: Final = {0xC0: None, 0xC2: False, 0xC3: True}
NUMBERS: Final = {
    0xCA: Struct(">f"), 0xCB: Struct(">d"),
    0xCC: Struct(">B"), 0xCD: Struct(">H"), 0xCE: Struct(">I"), 0xCF: Struct(">Q"),
    0xD0: Struct(">b"), 0xD1: Struct(">h"), 0xD2: Struct(">i"), 0xD3: Struct(">q"),
}  # fmt: skip
# Type byte -> how the length after it is written.
BINARIES: Final = {0xC4: Struct(">B"), 0xC5: Struct(">H"), 0xC6: Struct(">I")}
TEXTS: Final = {0xD9: Struct(">B"), 0xDA: Struct(">H"), 0xDB: Struct(">I")}
LISTS: Final = {0xDC: Struct(">H"), 0xDD: Struct(">I")}
MAPS: Final = {0xDE: Struct(">H"), 0xDF: Struct(">I")}


def decode(data: bytes, *, where: str = "") -> Value:
    """Return the one value that ``data`` holds.

    Raises:
        BinaryError: damaged, followed by more bytes, or nested deeper than ``DEEPEST``.
    """
    decoder = _Decoder(Window(data=data, where=where))
    value = decoder.value(0)
    if decoder.position != len(data):
        raise decoder.window.fault(
            f"{len(data) - decoder.position} bytes after a MessagePack value"
        )
    return value


class _Decoder:
    """A position that moves through the bytes."""

    __slots__ = ("position", "window")

    def __init__(self, window: Window) -> None:
        self.window = window
        self.position = 0

    def value(self, depth: int) -> Value:
        if depth > DEEPEST:
            raise self.window.fault(f"MessagePack is nested more than {DEEPEST} deep")
        kind = self._take(1)[0]
        if kind < 0x80 or kind >= 0xE0:
            return kind if kind < 0x80 else kind - 0x100
        if kind in CONSTANTS:
            return CONSTANTS[kind]
        if kind in NUMBERS:
            return self._number(NUMBERS[kind])
        return self._sized(kind, depth)

    def _sized(self, kind: int, depth: int) -> Value:
        """Return a value whose length is in its type byte or follows it."""
        if kind in BINARIES:
            return self._take(self._number(BINARIES[kind]))
        if kind in TEXTS or 0xA0 <= kind < 0xC0:
            size = self._number(TEXTS[kind]) if kind in TEXTS else kind & 0x1F
            return self._take(size).decode("utf-8", "backslashreplace")
        if kind in LISTS or 0x90 <= kind < 0xA0:
            count = self._number(LISTS[kind]) if kind in LISTS else kind & 0xF
            return [self.value(depth + 1) for _ in range(count)]
        if kind in MAPS or 0x80 <= kind < 0x90:
            count = self._number(MAPS[kind]) if kind in MAPS else kind & 0xF
            return {self._key(): self.value(depth + 1) for _ in range(count)}
        raise self.window.fault(f"MessagePack type {kind:#04x} is not known")

    def _take(self, size: int) -> bytes:
        taken = self.window.take(self.position, size, "a MessagePack value")
        self.position += size
        return taken

    def _number(self, layout: Struct) -> int:
        (number,) = layout.unpack(self._take(layout.size))
        return number  # type: ignore[no-any-return]  # a float where the table says so

    def _key(self) -> Key:
        key = self.value(DEEPEST)
        if key is None or isinstance(key, (list, dict)):
            raise self.window.fault(f"a MessagePack map has the key {key!r}")
        return key
