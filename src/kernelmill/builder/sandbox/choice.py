"""Which sandbox this machine allows. Each is tried by running a program in it that does nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.builder.sandbox import bubblewrap, namespaces
from kernelmill.builder.sandbox.errors import NoSandbox
from kernelmill.builder.sandbox.room import HOST_NAME, USER, Room
from kernelmill.builder.toolchain.running import run_program
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Kind = Literal["bubblewrap", "namespaces"]
KINDS: Final[tuple[Kind, ...]] = ("bubblewrap", "namespaces")
VARIABLE: Final = "KERNELMILL_SANDBOX"
"""Names the only one to try."""
_TIMEOUT_S: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A way of making rooms that works here."""

    kind: Kind
    program: str = ""
    """bubblewrap's."""

    def command(self, room: Room) -> list[str]:
        """Return the command that runs ``room.command`` in its room."""
        if self.kind == "bubblewrap":
            return bubblewrap.command(self.program, room)
        document = namespaces.document(room, user=USER, host_name=HOST_NAME)
        return [sys.executable, "-I", "-S", str(namespaces.__file__), document]


def probe_sandbox(env: Mapping[str, str], *, root: Path) -> Sandbox:
    """Return the best sandbox that works.

    Args:
        env: ``PATH``, and the variable that names one.
        root: a root folder of builds, to try with.

    Raises:
        NoSandbox: none does; says why each one failed.
    """
    asked = env.get(VARIABLE, "")
    if asked not in {"", *KINDS}:
        raise NoSandbox(f"{VARIABLE} is {asked!r}", hint=f"set it to one of: {', '.join(KINDS)}")
    objections = []
    for kind in KINDS:
        if asked in {"", kind}:
            objection = ""
            program = shutil.which("bwrap", path=env.get("PATH")) or ""
            if kind == "bubblewrap" and not program:
                objection = "bwrap is not installed"
            sandbox = Sandbox(kind=kind, program=program)
            objection = objection or _try(sandbox, root)
            if not objection:
                return sandbox
            objections.append(f"{kind}: {objection}")
    raise NoSandbox(
        f"this machine allows no sandbox ({'; '.join(objections)})",
        hint="allow user namespaces, or accept a weaker build with --allow-unsandboxed",
    )


def _try(sandbox: Sandbox, root: Path) -> str:
    room = Room(
        root=root, empty=(), mounts=(), environment={}, folder="/", command=("/usr/bin/true",)
    )
    try:
        done = subprocess.run(
            sandbox.command(room), capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"


def run_room(sandbox: Sandbox, room: Room, *, on_line: Callable[[str], None]) -> int:
    """Run a room's program to its end and return its status.

    Args:
        sandbox: what makes the room.
        room: with the program.
        on_line: called with each line that it prints.
    """
    return run_program(sandbox.command(room), env=dict(os.environ), on_line=on_line)
