"""``kernels download``: fetch the kernels of a lock file, for use without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.console import printable
from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import note, print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kernelmill.runtime.locking_download import Downloaded, Downloader

HELP = "fetch the kernels that a project's kernels.lock names into the cache"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", metavar="DIR", type=Path, help="the project, or its lock file")
    parser.add_argument(
        "--all-variants", action="store_true", help="every build, not this machine's alone"
    )
    arguments.add_trust(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Fetch every kernel, and tell which could not be."""
    from kernelmill.runtime.locking import find_lockfile, read_lockfile  # noqa: PLC0415 - only here

    path = find_lockfile(args.folder)
    lockfile = read_lockfile(path)
    outcomes = _downloader(args).download_all(lockfile.kernels)
    if args.json:
        print_json({"version": 1, "path": str(path), "kernels": list(map(as_json, outcomes))})
    for each in outcomes:
        if each.error:
            note(printable(f"{each.kernel.repo_id}: {each.error}"))
    return exit_status(outcomes)


def _downloader(args: argparse.Namespace) -> Downloader:
    from kernelmill.runtime.cache import Cache  # noqa: PLC0415 - only this command
    from kernelmill.runtime.hub.opening import open_hub  # noqa: PLC0415 - as above
    from kernelmill.runtime.locking_download import (  # noqa: PLC0415 - as above
        Downloader,
        select_all,
        select_for,
    )
    from kernelmill.runtime.probe import probe_host  # noqa: PLC0415 - as above
    from kernelmill.runtime.settings import read_settings  # noqa: PLC0415 - as above

    settings = read_settings()
    cache = Cache(root=settings.cache_dir)
    return Downloader(
        hub=open_hub(settings, cache),
        cache=cache,
        select=select_all if args.all_variants else select_for(probe_host()),
        trust=arguments.trust_of(args),
        report=note,
    )


def exit_status(outcomes: Sequence[Downloaded]) -> int:
    """Return 0 when everything is here, the one reason when there is one, and 1 otherwise."""
    statuses = {each.error.exit_code for each in outcomes if each.error}
    return statuses.pop() if len(statuses) == 1 else int(bool(statuses))


def as_json(outcome: Downloaded) -> dict[str, object]:
    """Return the outcome for programs."""
    kernel, error = outcome.kernel, outcome.error
    return {
        "repo_id": str(kernel.repo_id),
        "commit": kernel.commit,
        "builds": [{"variant": it.name, "path": str(it)} for it in outcome.builds],
        "error": None if error is None else error.problem,
    }
