from __future__ import annotations

import socket
import struct

import pytest

from kernelmill.builder.inside.watch import Watch, parse_address, parse_question


def inet(address: str, port: int) -> bytes:
    family = struct.pack("<H", socket.AF_INET) + struct.pack(">H", port)
    return family + socket.inet_aton(address) + bytes(8)


def inet6(address: str, port: int) -> bytes:
    family = struct.pack("<H", socket.AF_INET6) + struct.pack(">HI", port, 0)
    return family + socket.inet_pton(socket.AF_INET6, address) + bytes(4)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param(inet("192.0.2.7", 443), "192.0.2.7:443", id="ip4"),
        pytest.param(inet6("2001:db8::7", 80), "[2001:db8::7]:80", id="ip6"),
        pytest.param(inet("127.0.0.1", 8000), "", id="this-machine"),
        pytest.param(inet6("::1", 8000), "", id="this-machine-6"),
        pytest.param(inet("192.0.2.1", 53), "", id="a-name-server-is-not-what-is-wanted"),
        pytest.param(struct.pack("<H", socket.AF_UNIX) + b"/run/x\0", "", id="unix"),
        pytest.param(b"", "", id="nothing"),
    ],
)
def test_address_is_read(raw: bytes, text: str) -> None:
    assert parse_address(raw) == text


def test_name_is_read_from_a_question() -> None:
    head = b"\x12\x34\x01\x00\x00\x01" + bytes(6)
    question = head + b"\x07kernels\x07example\x03org\0" + b"\0\x01\0\x01"
    assert parse_question(question) == "kernels.example.org"
    assert parse_question(b"GET / HTTP/1.1") == ""
    assert parse_question(b"") == ""


def test_each_place_is_named_once_in_order() -> None:
    watch = Watch()
    for place in ("b:1", "", "a:1", "b:1"):
        watch.add(place)
    assert watch.wanted == ("b:1", "a:1")
