"""The room as bubblewrap makes it: https://github.com/containers/bubblewrap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.sandbox.room import HOST_NAME, USER

if TYPE_CHECKING:
    from kernelmill.builder.sandbox.room import Room


def command(bwrap: str, room: Room) -> list[str]:
    """Return the command that runs ``room.command`` in its room.

    Args:
        bwrap: the program.
        room: what is to be in it.
    """
    words = [bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--uid", str(USER), "--gid", str(USER), "--hostname", HOST_NAME]
    words += ["--ro-bind", str(room.root), "/", "--proc", "/proc", "--dev", "/dev"]
    for place in room.empty:
        words += ["--tmpfs", place]
    for mount in room.mounts:
        kind = "--bind" if mount.is_writable else "--ro-bind"
        words += [kind, str(mount.source), mount.target]
    words += ["--chdir", room.folder, "--clearenv"]
    for name, value in sorted(room.environment.items()):
        words += ["--setenv", name, value]
    return [*words, "--", *room.command]
