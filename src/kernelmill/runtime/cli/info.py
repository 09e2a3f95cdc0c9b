"""``kernels info``: what a kernel says about itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import print_facts, print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kernelmill.spec.metadata import Metadata

HELP = "show what a kernel says about itself"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("kernel", metavar="KERNEL", help="a repository, or a folder")
    arguments.add_revision(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the facts that all builds share, and the backends there are builds for."""
    from kernelmill.runtime.catalogue import read_local_builds, read_remote_builds  # noqa: PLC0415
    from kernelmill.spec.errors import InputError  # noqa: PLC0415 - only this command needs them

    if Path(args.kernel).is_dir():
        if args.version is not None or args.revision is not None:
            raise InputError(
                "--revision and --version cannot be used with a local path",
                where=args.kernel,
                hint="leave them out: a folder holds one version",
            )
        origin, builds = {"path": args.kernel}, read_local_builds(Path(args.kernel))
    else:
        revision, builds = read_remote_builds(args.kernel, args.version, args.revision)
        origin = {"repo_id": args.kernel, "revision": revision}
    if args.json:
        print_json({**describe(builds), **origin})
    else:
        print_facts({**origin, **describe(builds)})
    return 0


def describe(builds: Sequence[Metadata]) -> dict[str, object]:
    """Return what the first build says, and the backends of all.

    ``version`` is the kernel's here: the format is that of Hugging Face's command.
    """
    first = builds[0]
    return {
        "name": first.name,
        "version": first.version,
        "kernels_minver": first.kernels_minver,
        "license": first.license,
        "upstream": first.upstream,
        "source": first.source,
        "python_depends": list(first.python_depends),
        "backends": sorted({each.backend.value for each in builds}),
    }
