"""Notice what a build wants of the network, which it does not have: addresses, and names it asks.

The kernel reports each such call of this thread and of all that it starts, and then lets it go on
and fail. Interfaces: seccomp(2) and seccomp_unotify(2), Linux 5.5 or later. Where they are
not allowed nothing is noticed, and the call fails all the same.
"""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import os
import select
import socket
import struct
import threading
from contextlib import suppress
from typing import Final, NamedTuple

_SET_NO_NEW_PRIVS: Final = 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE: Final = 1
_NOTIFICATION: Final = struct.Struct("<QIIiIQ6Q")
_ANSWER: Final = struct.Struct("<QqiI")
_MESSAGE: Final = struct.Struct("<QI4xQQ")
"""The head of a ``msghdr``: name, its size, buffers, their number."""
_DNS_QUESTION: Final = b"\x01\x00\x00\x01"
_DNS_HEADER_BYTES, _DNS_PORT = 12, 53
_MOST_BYTES: Final = 512


class _Machine(NamedTuple):
    arch: int
    seccomp: int
    connect: int
    sendto: int
    sendmsg: int
    sendmmsg: int


_MACHINES: Final = {
    "x86_64": _Machine(0xC000003E, 317, 42, 44, 46, 307),
    "aarch64": _Machine(0xC00000B7, 277, 203, 206, 211, 269),
}


class Watch:
    """What was wanted so far."""

    def __init__(self) -> None:
        self._wanted: dict[str, None] = {}

    @property
    def wanted(self) -> tuple[str, ...]:
        """Names and addresses, in the order in which they were first wanted."""
        return tuple(self._wanted)

    def add(self, place: str) -> None:
        """Remember a name or an address; nothing is none."""
        if place:
            self._wanted.setdefault(place)


def watch_network() -> Watch:
    """Watch this thread, and all that it starts from now on. This cannot be undone."""
    watch, machine = Watch(), _MACHINES.get(os.uname().machine)
    if machine:
        with suppress(OSError):
            listener = _install(machine)
            threading.Thread(target=_listen, args=(listener, machine, watch), daemon=True).start()
    return watch


def _install(machine: _Machine) -> int:
    calls = (machine.connect, machine.sendto, machine.sendmsg, machine.sendmmsg)
    lines = [(_LOAD, 0, 0, 4), (_JUMP_IF_EQUAL, 1, 0, machine.arch), (_RETURN, 0, 0, _ALLOW)]
    lines += [(_LOAD, 0, 0, 0)]
    lines += [(_JUMP_IF_EQUAL, len(calls) - at, 0, call) for at, call in enumerate(calls)]
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _NOTIFY)]
    code = b"".join(struct.pack("<HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("<H6xQ", len(lines), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    listener = int(libc.syscall(machine.seccomp, _SET_MODE_FILTER, _NEW_LISTENER, program))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    os.set_inheritable(listener, False)
    return listener


def _listen(listener: int, machine: _Machine, watch: Watch) -> None:
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while any(event & select.POLLIN for _, event in poll.poll()):
        request = bytearray(_NOTIFICATION.size)
        with suppress(OSError):  # the caller may be gone
            fcntl.ioctl(listener, _RECEIVE, request)
            number, pid, _, call, _, _, *arguments = _NOTIFICATION.unpack(request)
            with suppress(OSError, struct.error, ValueError):
                watch.add(_wanted(pid, call, arguments, machine))
            fcntl.ioctl(listener, _SEND, _ANSWER.pack(number, 0, 0, _CONTINUE))


def _wanted(pid: int, call: int, arguments: list[int], machine: _Machine) -> str:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - no path of a file

        def read(address: int, size: int) -> bytes:
            memory.seek(address)
            return memory.read(min(size, _MOST_BYTES))

        if call == machine.connect:
            return parse_address(read(arguments[1], arguments[2]))
        if call == machine.sendto:
            return parse_question(read(arguments[1], arguments[2])) or (
                parse_address(read(arguments[4], arguments[5])) if arguments[4] else ""
            )
        _, _, buffers, _ = _MESSAGE.unpack(read(arguments[1], _MESSAGE.size))
        start, size = struct.unpack("<QQ", read(buffers, 16))
        return parse_question(read(start, size))


def parse_address(raw: bytes) -> str:
    """Return the address of a ``sockaddr``; nothing for one of this machine itself."""
    family = int.from_bytes(raw[:2], "little")
    port = int.from_bytes(raw[2:4], "big")
    if family == socket.AF_INET:
        address: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.IPv4Address(raw[4:8])
        text = f"{address}:{port}"
    elif family == socket.AF_INET6:
        address = ipaddress.IPv6Address(raw[8:24])
        text = f"[{address}]:{port}"
    else:
        return ""
    return "" if address.is_loopback or port in {0, _DNS_PORT} else text


def parse_question(raw: bytes) -> str:
    """Return the name that a DNS question asks for; nothing for any other message."""
    if raw[2:6] != _DNS_QUESTION:
        return ""
    labels, place = [], _DNS_HEADER_BYTES
    while place < len(raw) and raw[place]:
        labels.append(raw[place + 1 : place + 1 + raw[place]].decode("ascii"))
        place += 1 + raw[place]
    name = ".".join(labels)
    return name if name.isprintable() else ""
