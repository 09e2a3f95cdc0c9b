"""``kernels lock``: write down the commit of every kernel that a project loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.console import printable
from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import note, print_json

if TYPE_CHECKING:
    import argparse

    from kernelmill.runtime.locking import Lock
    from kernelmill.runtime.locking_changes import Change
    from kernelmill.spec.lockfile import Lockfile

HELP = "write kernels.lock: the commit of every kernel that a project's pyproject.toml names"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default=".", type=Path, help="the project"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit status 0: up to date, 1: missing or out of date",
    )
    arguments.add_trust(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Ask the Hub, say what moved, and write it down unless it is only to be checked."""
    from kernelmill.runtime.locking import write_lockfile  # noqa: PLC0415 - only this command
    from kernelmill.runtime.locking_changes import compare, keep_nix_hashes  # noqa: PLC0415
    from kernelmill.spec.lockfile import FILE_NAME  # noqa: PLC0415 - as above

    path = args.folder / FILE_NAME
    old, lock = _read_old(path, is_strict=args.check), _lock(args)
    changes = compare(old, lock.lockfile)
    was_current = path.is_file() and not changes
    if not args.check:
        write_lockfile(path, keep_nix_hashes(lock.lockfile, old))
    if args.json:
        print_json({**as_json(path, lock, changes), "was_current": was_current})
    else:
        _print(path, lock, changes, is_check=args.check)
    return 1 if args.check and not was_current else 0


def _lock(args: argparse.Namespace) -> Lock:
    from kernelmill.runtime.cache import Cache  # noqa: PLC0415 - only this command
    from kernelmill.runtime.locking import Locker, open_live_hub  # noqa: PLC0415 - as above
    from kernelmill.runtime.locking_project import (  # noqa: PLC0415 - as above
        FILE_NAME,
        read_project,
        require_dependencies,
    )
    from kernelmill.runtime.settings import read_settings  # noqa: PLC0415 - as above

    where = str(args.folder / FILE_NAME)
    dependencies = require_dependencies(read_project(args.folder), where=where)
    settings = read_settings()
    cache = Cache(root=settings.cache_dir)
    locker = Locker(
        hub=open_live_hub(settings),
        cache=cache,
        trust=arguments.trust_of(args),
        report=lambda text: note(printable(text)),
    )
    return locker.lock(dependencies)


def _read_old(path: Path, *, is_strict: bool) -> Lockfile:
    """Return what is locked now; a damaged file is an error only where nothing replaces it."""
    from kernelmill.runtime.locks import read_lockfile  # noqa: PLC0415 - only this command
    from kernelmill.spec.errors import LockfileError  # noqa: PLC0415 - as above
    from kernelmill.spec.lockfile import Lockfile  # noqa: PLC0415 - as above

    if not path.is_file():
        return Lockfile()
    try:
        return read_lockfile(path)
    except LockfileError as error:
        if is_strict:
            raise
        note(f"replacing a lock file that cannot be read: {error.problem}")
        return Lockfile()


def _print(path: Path, lock: Lock, changes: tuple[Change, ...], *, is_check: bool) -> None:
    for circle in lock.cycles:
        way = printable(" -> ".join(circle))
        note(f"these kernels load each other, which loading refuses: {way}")
    for each in changes:
        print(printable(str(each)))
    count = len(lock.lockfile.kernels)
    kernels = f"{count} kernel{'' if count == 1 else 's'}"
    if not is_check:
        note(f"locked {kernels} in {path}")
    elif not path.is_file():
        note(f"there is no {path}; write it: kernels lock {path.parent}")
    elif changes:
        note(f"{path} is out of date; write it again: kernels lock {path.parent}")
    else:
        note(f"{path} is up to date: {kernels}")


def as_json(path: Path, lock: Lock, changes: tuple[Change, ...]) -> dict[str, object]:
    """Return the outcome for programs."""
    return {
        "version": 1,
        "path": str(path),
        "kernels": [
            {
                "repo_id": str(it.repo_id),
                "version": it.version,
                "revision": it.revision,
                "commit": it.commit,
            }
            for it in lock.lockfile.kernels
        ],
        "changes": [
            {
                "kind": it.kind,
                "repo_id": str(it.repo_id),
                "wanted": it.wanted,
                "before": it.before or None,
                "after": it.after or None,
            }
            for it in changes
        ],
        "cycles": [list(it) for it in lock.cycles],
    }
