"""Bounds-checked reading of bytes: whatever lies outside is one ``BinaryError``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.binary.errors import BinaryError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from struct import Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Bytes, and the name under which errors speak of them."""

    data: bytes
    where: str = ""

    def fault(self, problem: str, *, hint: str = "") -> BinaryError:
        """Return the error that says ``problem`` about these bytes."""
        return BinaryError(problem, where=self.where, hint=hint)

    def take(self, offset: int, size: int, what: str) -> bytes:
        """Return ``size`` bytes at ``offset``; ``what`` names them if they are not all there."""
        if offset < 0 or size < 0 or offset + size > len(self.data):
            raise self.fault(
                f"{what} is outside the file: {size} bytes at {offset:#x} of {len(self.data)}",
                hint="the file is damaged or was cut short",
            )
        return self.data[offset : offset + size]

    def part(self, offset: int, size: int, what: str) -> Window:
        """Return ``size`` bytes at ``offset`` as a window of their own, for example of names."""
        return Window(data=self.take(offset, size, what), where=self.where)

    def unpack(self, layout: Struct, offset: int, what: str) -> tuple[int, ...]:
        """Return the fields of ``layout`` at ``offset``."""
        return layout.unpack(self.take(offset, layout.size, what))

    def table(
        self, layout: Struct, offset: int, count: int, what: str
    ) -> Iterator[tuple[int, ...]]:
        """Return ``count`` records of ``layout``, one after the other from ``offset``."""
        return layout.iter_unpack(self.take(offset, count * layout.size, what))

    def text(self, offset: int, what: str) -> str:
        """Return the NUL-terminated text at ``offset``."""
        end = self.data.find(b"\0", offset) if 0 <= offset < len(self.data) else -1
        if end < 0:
            raise self.fault(
                f"{what} is outside its string table: {offset:#x} of {len(self.data)}",
                hint="the file is damaged or was cut short",
            )
        return self.data[offset:end].decode("utf-8", "backslashreplace")
