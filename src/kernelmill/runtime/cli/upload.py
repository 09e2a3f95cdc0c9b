"""``kernels upload``: publish the builds of a kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import note, print_json, print_table

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from kernelmill.spec.publication import Publication

HELP = "upload a kernel's builds to their version's branch, and its card to main"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default=".", type=Path, help="the kernel's repository"
    )
    parser.add_argument("--repo-id", metavar="NS/NAME", help="default: general.hub in build.toml")
    parser.add_argument("--branch", metavar="NAME", help="default: v and the builds' version")
    parser.add_argument(
        "--builds", metavar="FOLDER", help="result or build; by default the one that has builds"
    )
    parser.add_argument("--private", action="store_true", help="if the repository is created")
    parser.add_argument("--repo-type", choices=("kernel", "model"), default="kernel")
    parser.add_argument("--dry-run", action="store_true", help="print the plan and stop")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the plan, carry it out, and print where the result is."""
    from kernelmill.runtime.cache import Cache  # noqa: PLC0415 - only here
    from kernelmill.runtime.draft import plan_upload, read_draft  # noqa: PLC0415 - as above
    from kernelmill.runtime.records import Records  # noqa: PLC0415 - as above
    from kernelmill.runtime.settings import read_settings  # noqa: PLC0415 - as above

    settings = read_settings()
    plan = plan_upload(
        read_draft(args.folder, place=args.builds),
        repo_id=args.repo_id,
        branch=args.branch,
        repo_type=args.repo_type,
    )
    if args.dry_run and args.json:
        print_json({**plan_json(plan, settings.endpoint), "status": "planned"})
    elif not args.json:
        print_plan(plan, settings.endpoint, sys.stdout if args.dry_run else sys.stderr)
    if args.dry_run:
        return 0
    status = _send(args, plan, settings.endpoint)
    # What is loaded here next is what was just sent, not what the Hub said of it before.
    Records(Cache(root=settings.cache_dir)).forget_listing(plan.repo_id)
    return status


def _send(args: argparse.Namespace, plan: Publication, endpoint: str) -> int:
    from kernelmill.runtime.hub.publisher import RemotePublisher  # noqa: PLC0415 - huggingface_hub
    from kernelmill.runtime.publish import publish  # noqa: PLC0415 - only this command needs it

    publisher = RemotePublisher(endpoint, plan.repo_id, plan.repo_type)
    published = publish(plan, args.folder, publisher, is_private=args.private, report=note)
    if args.json:
        print_json(
            {
                **plan_json(plan, endpoint),
                "status": "uploaded" if published.is_changed else "no_changes",
                "url": published.url,
                "commits": dict(published.commits),
                "deleted": list(published.deleted),
            }
        )
    else:
        if not published.is_changed:
            note("no changes: the Hub holds these very files already")
        print(published.url)
    return 0


def print_plan(plan: Publication, endpoint: str, file: TextIO) -> None:
    """Print what will go where."""
    note(f"to {plan.repo_type} repository {plan.repo_id} on {endpoint}:")
    uploads = [("main", each) for each in plan.main_files]
    uploads += [(plan.version_branch, each) for each in plan.version_files]
    rows = [
        (branch, each.target, "" if each.source == each.target else f"from {each.source}")
        for branch, each in uploads
    ]
    print_table(("branch", "file", ""), rows, file)


def plan_json(plan: Publication, endpoint: str) -> dict[str, object]:
    """Return the plan in JSON's types."""
    return {
        "version": 1,
        "endpoint": endpoint,
        "repo_id": str(plan.repo_id),
        "repo_type": plan.repo_type,
        "branch": plan.version_branch,
        "main_files": {each.target: each.source for each in plan.main_files},
        "version_files": {each.target: each.source for each in plan.version_files},
    }
