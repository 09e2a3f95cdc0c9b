"""``kernels versions``: the versions of a kernel, and which builds of each fit this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import print_json, print_table

if TYPE_CHECKING:
    import argparse

HELP = "list the versions of a kernel, and whether they fit this machine"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("repo", metavar="REPO", help="such as kernels-community/gemm")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print every version, newest first."""
    from kernelmill.runtime.revisions import choose_newest, versions_of  # noqa: PLC0415 - only here
    from kernelmill.runtime.session import open_session  # noqa: PLC0415 - as above
    from kernelmill.spec.names import RepoId  # noqa: PLC0415 - as above

    session, repo = open_session(is_fresh=True), RepoId.parse(args.repo)
    refs = session.hub.fetch_refs(repo)
    if not refs.branches and session.hub.is_offline:
        choose_newest(refs, repo, is_offline=True)  # raises: nothing of it is here
    selections = {
        number: session.look_up(repo, revision=commit)
        for number, commit in versions_of(refs).items()
    }
    if args.json:
        versions = [
            {
                "version": number,
                "commit": selection.choice.commit,
                "chosen": str(selection.resolution.chosen) if selection.resolution.chosen else None,
                "variants": [str(each.variant) for each in selection.resolution.trace],
                "reasons": {
                    str(each.variant): each.objection
                    for each in selection.resolution.trace
                    if each.objection
                },
            }
            for number, selection in selections.items()
        ]
        print_json({"version": 1, "repo": args.repo, "versions": versions})
    elif not selections:
        print(f"Repository does not support kernel versions: {args.repo}")
    else:
        rows = [
            (
                str(number),
                str(each.variant),
                "chosen"
                if each.variant == selection.resolution.chosen
                else each.objection or "fits",
            )
            for number, selection in selections.items()
            for each in selection.resolution.trace
        ]
        print_table(("version", "build", "fits"), rows)
    return 0
