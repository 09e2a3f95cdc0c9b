from __future__ import annotations

import struct

import pytest

from kernelmill.binary import macho
from kernelmill.binary.errors import BinaryError

ARM64 = 0x0100000C


def image(*, minos: int = 0, old_minos: int = 0, undefined: tuple[str, ...] = ()) -> bytes:
    """A Mach-O bundle with nothing but load commands and undefined symbols."""
    commands: list[bytes] = []
    if minos:
        commands.append(struct.pack("<IIIIII", 0x32, 24, 1, minos, minos, 0))
    if old_minos:
        commands.append(struct.pack("<IIII", 0x24, 16, old_minos, old_minos))
    names = b"\0" + b"".join(f"_{name}\0".encode() for name in undefined)
    size = sum(map(len, commands)) + 24
    start = 32 + size
    table, offset = b"", 1
    for name in undefined:
        table += struct.pack("<IBBHQ", offset, 0x01, 0, 0, 0)
        offset += len(name) + 2
    table += struct.pack("<IBBHQ", 0, 0x0F, 1, 0, 16)  # a defined one
    count = len(undefined) + 1
    commands.append(struct.pack("<IIIIII", 2, 24, start, count, start + len(table), len(names)))
    header = struct.pack("<IIIIIIII", 0xFEEDFACF, ARM64, 0, 8, len(commands), size, 0, 0)
    return header + b"".join(commands) + table + names


def test_image_says_its_oldest_system_and_what_it_wants() -> None:
    (found,) = macho.parse(image(minos=0x000E0200, undefined=("PyList_New", "_ZN2at3addE")))
    assert found.minimum_os == (14, 2)
    assert found.undefined == ("PyList_New", "_ZN2at3addE")


def test_older_linkers_say_it_in_another_command() -> None:
    assert macho.parse(image(old_minos=0x000A0F00))[0].minimum_os == (10, 15)
    assert macho.parse(image())[0].minimum_os == (0, 0)


def test_universal_files_hold_several_images() -> None:
    parts = [image(minos=0x000B0000), image(minos=0x000D0000)]
    start = 8 + 20 * len(parts)
    table, body = b"", b""
    for part in parts:
        table += struct.pack(">IIIII", ARM64, 0, start + len(body), len(part), 3)
        body += part
    data = b"\xca\xfe\xba\xbe" + struct.pack(">I", len(parts)) + table + body
    assert [it.minimum_os for it in macho.parse(data)] == [(11, 0), (13, 0)]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(b"\xce\xfa\xed\xfe" + bytes(40), "not a 64-bit Mach-O file", id="32-bit"),
        pytest.param(image(minos=1)[:40], "a load command is outside|the build version", id="cut"),
        pytest.param(
            image(minos=1).replace(struct.pack("<II", 0x32, 24), struct.pack("<II", 0x32, 0)),
            "a load command has 0 bytes",
            id="endless",
        ),
    ],
)
def test_damage_is_one_clear_error(data: bytes, problem: str) -> None:
    with pytest.raises(BinaryError, match=problem):
        macho.parse(data, where="k.so")
