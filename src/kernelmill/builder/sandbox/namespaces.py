"""The room made without other programs: Linux namespaces, through the C library.

A program of its own, which ends by becoming the command: it unshares what it must not share, and
this cannot be undone. ``python -I namespaces.py ROOM`` where ROOM is the JSON of ``document``.
Only the standard library is here. Interfaces: unshare(2), user_namespaces(7), pivot_root(2).
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kernelmill.builder.sandbox.room import Room

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER = 0x00020000, 0x04000000, 0x08000000, 0x10000000
_NEWPID, _NEWNET, _NEWCGROUP = 0x20000000, 0x40000000, 0x02000000
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
_REMOUNT, _BIND, _REC, _PRIVATE = 32, 4096, 16384, 1 << 18
_DETACH: Final = 2
_SET_PDEATHSIG, _SET_NO_NEW_PRIVS, _CAPBSET_DROP = 1, 38, 24
_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41}
_LAST_CAPABILITY: Final = Path("/proc/sys/kernel/cap_last_cap")
_DEVICES: Final = ("null", "zero", "full", "random", "urandom")
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_KEPT_FLAGS: Final = {"nosuid": _NOSUID, "nodev": _NODEV, "noexec": _NOEXEC, "noatime": 1024,
                      "nodiratime": 2048, "relatime": 1 << 21}  # fmt: skip
"""Flags of a mount that a user namespace may not take away: a remount has to repeat them."""
FAILED: Final = 125
"""The status when the room could not be made."""

_libc = ctypes.CDLL(None, use_errno=True)


def document(room: Room, *, user: int, host_name: str) -> str:
    """Return what the program wants to know of ``room``."""
    return json.dumps(
        {
            "root": str(room.root),
            "empty": room.empty,
            "mounts": [[str(it.source), it.target, it.is_writable] for it in room.mounts],
            "environment": dict(room.environment),
            "folder": room.folder,
            "command": room.command,
            "user": user,
            "host-name": host_name,
        }
    )


def _call(what: str, result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    words = (source.encode(), target.encode(), kind.encode())
    _call(f"mount {target}", _libc.mount(*words, ctypes.c_ulong(flags), options.encode()))


def _bind(source: str, target: str, *, is_writable: bool) -> None:
    _mount(source, target, "", _BIND | _REC)
    if not is_writable:
        flags = sum(
            flag
            for name, flag in _KEPT_FLAGS.items()
            if name in _options_of(target) and flag is not None
        )
        _mount("", target, "", _BIND | _REMOUNT | _RDONLY | flags)


def _options_of(target: str) -> list[str]:
    """Return the options of the mount at ``target``, the last one there."""
    real = os.path.realpath(target)
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    found = [it.split() for it in lines]
    options = [it[5] for it in found if it[4].encode().decode("unicode_escape") == real]
    return options[-1].split(",") if options else []


def _enter_namespaces(user: int) -> None:
    uid, gid = os.getuid(), os.getgid()
    flags = _NEWUSER | _NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS | _NEWCGROUP
    _call("unshare", _libc.unshare(flags))
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{user} {gid} 1", encoding="ascii")


def _lay_out(room: dict[str, Any]) -> None:
    _mount("none", "/", "", _REC | _PRIVATE)
    _bind(room["root"], room["root"], is_writable=False)
    root = os.path.realpath(room["root"])
    os.chdir(root)
    _mount("proc", f"{root}/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    _lay_out_devices(f"{root}/dev")
    for place in room["empty"]:
        _mount("tmpfs", root + place, "tmpfs", _NOSUID | _NODEV, "mode=0755")
    for source, target, is_writable in room["mounts"]:
        _make_place(source, root + target)
        _bind(source, root + target, is_writable=is_writable)
    _call("pivot_root", _libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."))
    _call("umount", _libc.umount2(b".", _DETACH))
    os.chdir(room["folder"])


def _lay_out_devices(folder: str) -> None:
    _mount("tmpfs", folder, "tmpfs", _NOSUID, "mode=0755")
    for name in _DEVICES:
        _make_place("/dev/null", f"{folder}/{name}")
        _mount(f"/dev/{name}", f"{folder}/{name}", "", _BIND)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        Path(folder, name).symlink_to(f"/proc/self/fd/{number}")
    Path(folder, "fd").symlink_to("/proc/self/fd")
    Path(folder, "shm").mkdir()


def _make_place(source: str, target: str) -> None:
    place = Path(target)
    if Path(source).is_dir():
        place.mkdir(parents=True, exist_ok=True)
    elif not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()


def _start_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sh14x", b"lo", 0)
        answer = fcntl.ioctl(probe, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack("16xh14x", answer)
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def _give_up_rights() -> None:
    for number in range(int(_LAST_CAPABILITY.read_text(encoding="ascii")) + 1):
        _call("prctl", _libc.prctl(_CAPBSET_DROP, number, 0, 0, 0))
    _call("prctl", _libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def main(argv: list[str]) -> int:
    """Make the room and run its command there; the status is the command's."""
    room = json.loads(argv[0])
    _call("prctl", _libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    try:
        _enter_namespaces(room["user"])
    except OSError as error:
        return _fail(error)
    child = os.fork()
    if child == 0:
        os._exit(_become(room))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) % 256


def _become(room: dict[str, Any]) -> int:
    """Run the command as the first process of its namespace: when it ends, all of its end."""
    try:
        _call("prctl", _libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        socket.sethostname(room["host-name"])
        _start_loopback()
        _lay_out(room)
        _give_up_rights()
        os.setsid()
        os.umask(0o022)
        os.execve(room["command"][0], room["command"], room["environment"])
    except OSError as error:
        return _fail(error)


def _fail(error: OSError) -> int:
    sys.stderr.write(f"sandbox: {error.filename or error}: {error.strerror}\n")
    return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
