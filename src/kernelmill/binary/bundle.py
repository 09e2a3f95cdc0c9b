"""Read and write clang's offload bundle: device code for several GPUs in one run of bytes.

Format: https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-binary-file-layout. A HIP
library holds one bundle per translation unit, one after the other in its ``.hip_fatbin`` section.
"""

from __future__ import annotations

import re
from dataclasses import field
from struct import Struct
from typing import TYPE_CHECKING, Final

from kernelmill.binary._window import Window
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAGIC: Final = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC: Final = b"CCOB"
SECTION_NAME: Final = ".hip_fatbin"
COUNT: Final = Struct("<Q")
ENTRY: Final = Struct("<QQQ")

_DEVICE_ID = re.compile(r"hip(?:v4)?-amdgcn-amd-amdhsa-(?:unknown)?-(?P<target>.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The code for one target."""

    id: str
    """For example ``hipv4-amdgcn-amd-amdhsa--gfx942`` or ``host-x86_64-unknown-linux--``."""
    data: bytes = field(repr=False)
    """Empty for the host, whose code is around the bundle and not in it."""

    @property
    def target(self) -> str:
        """Return the AMD target, such as ``gfx942`` or ``gfx90a:xnack-``; empty for the host."""
        match = _DEVICE_ID.fullmatch(self.id)
        return match["target"] if match else ""


def device_id(target: str) -> str:
    """Return the entry id under which the HIP runtime looks for ``target``."""
    return f"hipv4-amdgcn-amd-amdhsa--{target}"


def build(entries: Iterable[Entry], *, alignment: int = 4096) -> bytes:
    """Return a bundle of ``entries``, each aligned to ``alignment`` bytes. Same input, same bytes.

    The default is what clang uses: the HIP runtime maps code objects in place.
    """
    held = tuple(entries)
    ids = [entry.id.encode() for entry in held]
    size = len(MAGIC) + COUNT.size + sum(ENTRY.size + len(identity) for identity in ids)
    header = bytearray(MAGIC + COUNT.pack(len(held)))
    body = bytearray()
    for entry, identity in zip(held, ids, strict=True):
        body += bytes(-(size + len(body)) % alignment)
        header += ENTRY.pack(size + len(body), len(entry.data), len(identity)) + identity
        body += entry.data
    return bytes(header + body)


def is_bundle(data: bytes) -> bool:
    """Say whether ``data`` starts as a bundle does, compressed or not."""
    return data.startswith((MAGIC, COMPRESSED_MAGIC))


def parse(data: bytes, *, where: str = "") -> tuple[Entry, ...]:
    """Return the entries of the one bundle at the start of ``data``.

    Raises:
        BinaryError: not a bundle, damaged, or compressed.
    """
    return _parse(data, where)[0]


def parse_section(data: bytes, *, where: str = "") -> tuple[Entry, ...]:
    """Return the entries of all bundles in the bytes of a ``.hip_fatbin`` section, in order."""
    return tuple(_walk(data, where))


def _walk(data: bytes, where: str) -> Iterator[Entry]:
    position = 0
    while rest := data[position:].lstrip(b"\0"):
        start = len(data) - len(rest)
        entries, size = _parse(rest, f"{where} +{start:#x}".lstrip())
        yield from entries
        position = start + size


def _parse(data: bytes, where: str) -> tuple[tuple[Entry, ...], int]:
    """Return a bundle's entries and its size in bytes."""
    window = Window(data=data, where=where)
    if data.startswith(COMPRESSED_MAGIC):
        raise window.fault(
            "a compressed offload bundle (CCOB), which is not read",
            hint="build with -no-offload-compress",
        )
    if not data.startswith(MAGIC):
        raise window.fault(f"not an offload bundle: it starts with {data[:24]!r}")
    (count,) = window.unpack(COUNT, len(MAGIC), "the bundle's count")
    position = end = len(MAGIC) + COUNT.size
    entries = []
    for _ in range(count):
        offset, size, id_size = window.unpack(ENTRY, position, "a bundle entry")
        identity = window.take(position + ENTRY.size, id_size, "a bundle entry's id")
        content = window.take(offset, size, f"bundle entry {identity!r}")
        entries.append(Entry(id=identity.decode("utf-8", "backslashreplace"), data=content))
        position += ENTRY.size + id_size
        end = max(end, position, offset + size)
    return tuple(entries), end
