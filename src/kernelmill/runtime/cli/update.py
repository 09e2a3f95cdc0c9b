"""``kernels update``: ask the Hub again, and fetch what would now be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.console import printable
from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kernelmill.runtime.update import KernelUpdate, RefUpdate

HELP = "ask the Hub again about cached kernels, and fetch what would now be loaded"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "repo", nargs="*", metavar="REPO", help="a kernel; all in the cache if none"
    )
    parser.add_argument(
        "--trust-remote-code",
        action="store_true",
        help="fetch from publishers whom the Hub does not vouch for, too",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print what moved; 1 when something could not be updated."""
    from kernelmill.runtime.settings import read_settings  # noqa: PLC0415 - only this command
    from kernelmill.runtime.update import update  # noqa: PLC0415 - as above

    updates = []
    for each in update(args.repo, is_allowed=args.trust_remote_code):
        updates.append(each)
        if not args.json:
            for line in lines_of(each):
                print(printable(line))
    if args.json:
        kernels = [each.as_json() for each in updates]
        print_json({"version": 1, "endpoint": read_settings().endpoint, "kernels": kernels})
    return 0 if all(each.is_good for each in updates) else 1


def lines_of(kernel: KernelUpdate) -> Iterator[str]:
    """Return what is to be read about one kernel."""
    if kernel.was_trusted != kernel.is_trusted:
        change = "is trusted now" if kernel.is_trusted else "is no longer trusted"
        yield f"{kernel.repo}  its publisher {change}"
    for ref in kernel.refs:
        yield f"{kernel.repo}  {ref.name}  {_change_of(ref)}"
    if kernel.problem:
        yield f"{kernel.repo}  {kernel.problem}"


def _change_of(ref: RefUpdate) -> str:
    if not ref.now:
        return f"{ref.before}  gone from the Hub"
    moved = ref.before if ref.before == ref.now else f"{ref.before} -> {ref.now}"
    return "  ".join(filter(None, (moved, ref.build, ref.problem.partition("\n")[0])))
