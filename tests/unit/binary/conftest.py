"""What the tests of ``binary`` read: a compiled code object, and libraries written by hand."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DATA = Path(__file__).parent / "data"


class LibraryWriter(Protocol):
    def __call__(
        self,
        *,
        needed: Sequence[str] = (),
        soname: str = "",
        runpath: str = "",
        wants: Sequence[tuple[str, str, str]] = (),
        offers: Sequence[str] = (),
        has_gnu_hash: bool = False,
    ) -> bytes: ...


@pytest.fixture(scope="session")
def code_object() -> bytes:
    """``fp8_tile.hip`` for gfx942, as the recipe of ``kernelmill.builder.hip`` compiles it."""
    return (DATA / "fp8_tile.gfx942.co").read_bytes()


class _Strings:
    def __init__(self) -> None:
        self.data = bytearray(b"\0")

    def add(self, text: str) -> int:
        offset = len(self.data)
        self.data += text.encode() + b"\0"
        return offset


def _write_verneed(
    wants: Sequence[tuple[str, str, str]], numbers: Mapping[str, int], strings: _Strings
) -> tuple[bytes, int]:
    by_library: dict[str, list[str]] = {}
    for _, version, library in wants:
        if version and version not in by_library.setdefault(library, []):
            by_library[library].append(version)
    data = bytearray()
    for index, (library, versions) in enumerate(by_library.items()):
        step = 0 if index == len(by_library) - 1 else 16 + 16 * len(versions)
        data += struct.pack("<HHIII", 1, len(versions), strings.add(library), 16, step)
        for position, version in enumerate(versions):
            inner = 0 if position == len(versions) - 1 else 16
            data += struct.pack("<IHHII", 0, 0, numbers[version], strings.add(version), inner)
    return bytes(data), len(by_library)


def _write_hash(first: int, count: int, *, is_gnu: bool) -> bytes:
    if not is_gnu:
        return struct.pack("<II", 0, count)
    if first == count:
        return struct.pack("<IIIIQI", 1, first, 1, 0, 0, 0)
    chain = struct.pack(f"<{count - first}I", *([0] * (count - first - 1)), 1)
    return struct.pack("<IIIIQI", 1, first, 1, 0, 0, first) + chain


@pytest.fixture(scope="session")
def write_library() -> LibraryWriter:
    """Write the smallest library that a dynamic linker understands: no section headers at all."""

    def write(
        *,
        needed: Sequence[str] = (),
        soname: str = "",
        runpath: str = "",
        wants: Sequence[tuple[str, str, str]] = (),
        offers: Sequence[str] = (),
        has_gnu_hash: bool = False,
    ) -> bytes:
        strings = _Strings()
        numbers = {version: index for index, (_, version, _) in enumerate(wants, 2) if version}
        symbols, indices = bytearray(24), [0]
        for name, version, _ in wants:
            symbols += struct.pack("<IBBHQQ", strings.add(name), 0x12, 0, 0, 0, 0)
            indices.append(numbers.get(version, 1))
        for name in offers:
            symbols += struct.pack("<IBBHQQ", strings.add(name), 0x12, 0, 1, 0x40, 8)
            indices.append(1)
        verneed, verneed_count = _write_verneed(wants, numbers, strings)
        entries = [(1, strings.add(name)) for name in needed]
        entries += [(14, strings.add(soname))] if soname else []
        entries += [(29, strings.add(runpath))] if runpath else []
        parts = {
            0x6FFFFEF5 if has_gnu_hash else 4: _write_hash(
                1 + len(wants), len(indices), is_gnu=has_gnu_hash
            ),
            6: bytes(symbols),
            5: bytes(strings.data),
            0x6FFFFFF0: struct.pack(f"<{len(indices)}H", *indices),
        }
        parts |= {0x6FFFFFFE: verneed} if verneed else {}
        body, start = bytearray(), 64 + 2 * 56
        for tag, part in parts.items():
            entries.append((tag, start + len(body)))
            body += part + bytes(-len(part) % 8)
        entries += [(10, len(strings.data)), (0x6FFFFFFF, verneed_count), (0, 0)]
        dynamic = b"".join(struct.pack("<qQ", tag, value) for tag, value in entries)
        at, size = start + len(body), start + len(body) + len(dynamic)
        header = struct.pack(
            "<4sBBBBB7xHHIQQQIHHHHHH",
            b"\x7fELF", 2, 1, 1, 0, 0, 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0,
        )  # fmt: skip
        load = struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, size, size, 4096)
        place = struct.pack("<IIQQQQQQ", 2, 6, at, at, at, len(dynamic), len(dynamic), 8)
        return header + load + place + bytes(body) + dynamic

    return write
