"""Release builds: one variant in a sandbox, of locked SDKs and of the files that it names."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import BuildKilled, CheckError
from kernelmill.builder.inside import order as order_format
from kernelmill.builder.inside.places import REPORT, STATEMENT_SUFFIX
from kernelmill.builder.package import OUTPUT_FOLDER, replace_folder
from kernelmill.builder.sandbox.choice import run_room
from kernelmill.builder.sandbox.contents import copy_package, copy_sources
from kernelmill.builder.sandbox.room import Mount, Room
from kernelmill.builder.toolchain.running import run_program
from kernelmill.builder.workplace import WORK_FOLDER, ensure_usable, make_folder, only_build
from kernelmill.spec.errors import HostError, InputError, KernelError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelmill.builder.inside.order import Order
    from kernelmill.builder.sandbox.choice import Sandbox
    from kernelmill.builder.sources import KernelTree

_PYTHON: Final = "/usr/bin/python3"
_PROGRAM: Final = ("-m", "kernelmill.builder.inside")
_EMPTY: Final = ("/build", "/run", "/sdk", "/tmp")
_ERRORS: Final[Mapping[int, type[KernelError]]] = {1: CheckError, 2: InputError, 3: HostError}


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What a release build makes."""

    folder: Path
    statement: Path


def build_release(
    tree: KernelTree,
    order: Order,
    trees: Mapping[str, Path],
    sandbox: Sandbox | None,
    *,
    output: Path | None = None,
    jobs: str = "",
    on_line: Callable[[str], None],
) -> Release:
    """Build one variant, and put it and the statement about it into ``build/``.

    Args:
        tree: the sources.
        order: what to build of them.
        trees: the folder of each SDK of ``order``, by name.
        sandbox: where; None to build on the bare machine, which ``order`` then has to say.
        output: the folder for the variant; None for ``build`` in the kernel's.
        jobs: how many compilers may run at once; empty to let the build find out.
        on_line: called with each line that is printed inside.

    Raises:
        KernelError: what went wrong inside, told here.
        HostError: this variant is being built already, or the folder cannot be written.
    """
    ensure_usable(tree.root)
    work = tree.root / WORK_FOLDER / f"{order.variant}-release"
    make_folder(work)
    with only_build(work), tempfile.TemporaryDirectory(prefix="room-", dir=work) as name:
        place = Path(name)
        fill_room(place, tree, order)
        environment = {"PYTHONDONTWRITEBYTECODE": "1", **({"MAX_JOBS": jobs} if jobs else {})}
        if sandbox:
            room = room_of(place, trees, environment)
            status = run_room(sandbox, room, on_line=on_line)
        else:
            status = _run_bare(place, trees, environment, on_line)
        if status:
            raise _failure(status, place / "out" / REPORT)
        return _take(place, order.variant, output or tree.root / OUTPUT_FOLDER)


def fill_room(place: Path, tree: KernelTree, order: Order) -> None:
    """Put what a build reads into ``place``, and make the folders that it writes to."""
    for folder in ("out", "sdk", "build", "tmp", "run"):
        (place / folder).mkdir()
    copy_sources(tree, place / "src")
    copy_package(place / "builder")
    (place / "run/job.json").write_text(order_format.dumps(order), encoding="utf-8")


def room_of(place: Path, trees: Mapping[str, Path], environment: Mapping[str, str]) -> Room:
    """Return the room of a build, whose own files are in ``place``."""
    mounts = [
        Mount(source=place / "src", target="/src"),
        Mount(source=place / "builder", target="/builder"),
        Mount(source=place / "run/job.json", target="/run/job.json"),
        Mount(source=place / "out", target="/out", is_writable=True),
        *(Mount(source=it, target=f"/sdk/{name}/tree") for name, it in sorted(trees.items())),
    ]
    fixed = {"PATH": "/usr/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": "/build"}
    (root,) = (it for name, it in trees.items() if name.startswith("cxx-"))
    return Room(
        root=root,
        empty=_EMPTY,
        mounts=tuple(mounts),
        environment={**fixed, "PYTHONPATH": "/builder", **environment},
        folder="/build",
        command=(_PYTHON, *_PROGRAM, "/run/job.json"),
    )


def _run_bare(
    place: Path,
    trees: Mapping[str, Path],
    environment: Mapping[str, str],
    on_line: Callable[[str], None],
) -> int:
    """Build with this machine's compiler, in a folder: nothing keeps the rest of it away."""
    for name, tree in trees.items():
        (place / "sdk" / name).mkdir()
        (place / "sdk" / name / "tree").symlink_to(tree)
    env = {**os.environ, "PYTHONPATH": str(place / "builder"), **environment}
    command = [sys.executable, *_PROGRAM, str(place / "run/job.json"), str(place)]
    return run_program(command, env=env, on_line=on_line)


def _failure(status: int, report: Path) -> KernelError:
    try:
        found = json.loads(report.read_text(encoding="utf-8"))
        kind = _ERRORS.get(found["status"], KernelError)
        return kind(found["problem"], where=found["where"], hint=found["hint"])
    except (OSError, ValueError, LookupError):
        return BuildKilled(
            f"the build ended with status {status} and without a word",
            hint="see what it printed with -v; if memory ran out, set MAX_JOBS=1",
        )


def _take(place: Path, variant: str, output: Path) -> Release:
    """Move the results out of the room: the statement last, which tells of the files."""
    target = output / variant
    statement = target.with_name(f"{variant}{STATEMENT_SUFFIX}")
    statement.unlink(missing_ok=True)
    replace_folder(place / "out" / variant, target, trash=place / "old")
    shutil.move(place / "out" / statement.name, statement)
    return Release(folder=target, statement=statement)
