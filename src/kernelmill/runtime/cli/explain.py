"""``kernels explain``: what ``get_kernel`` would load, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import print_facts, print_json, print_table

if TYPE_CHECKING:
    import argparse

    from kernelmill.runtime.explain import Explanation

HELP = "say which build of a kernel would be loaded here, and why not the others"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("repo", metavar="REPO", help="such as kernels-community/gemm")
    arguments.add_revision(parser)
    arguments.add_backend(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the explanation; 1 when nothing would be loaded."""
    from kernelmill.runtime.explain import explain  # noqa: PLC0415 - only this command needs it
    from kernelmill.runtime.session import open_session  # noqa: PLC0415 - as above

    session = open_session(backend=args.backend)
    explanation = explain(session, args.repo, version=args.version, revision=args.revision)
    if args.json:
        print_json(explanation.as_json())
    else:
        print_explanation(explanation)
    return 0 if explanation.would_load else 1


def print_explanation(explanation: Explanation) -> None:
    """Print facts, then the builds, best first."""
    choice, resolution = explanation.choice, explanation.resolution
    from kernelmill.runtime.tree import label  # noqa: PLC0415 - only this command needs it

    print_facts(
        {
            **({"override": explanation.override} if explanation.override else {}),
            "repository": f"{explanation.repo} on {explanation.endpoint}",
            **_moves(explanation),
            "trust": explanation.distrust or "trusted",
            "revision": f"{choice.name} ({choice.commit})",
            **({"advice": choice.advice} if choice.advice else {}),
            "would load": explanation.would_load or f"nothing {_why_nothing(explanation)}",
            "cached": explanation.folder if explanation.is_cached else "no",
        }
    )
    if explanation.dependencies:
        print()
        needs = [
            (label(it.wanted), it.found or "nowhere", it.objection.partition("\n")[0])
            for it in explanation.dependencies
        ]
        print_table(("needs", "found", "reason"), needs)
    if not (resolution.trace or resolution.skipped):
        return
    print()
    rows = [
        (
            str(each.variant),
            "chosen" if each.variant == resolution.chosen else "no" if each.objection else "fits",
            each.objection or each.note,
        )
        for each in resolution.trace
    ]
    rows += [(name, "skipped", "not the name of a build") for name in resolution.skipped]
    print_table(("build", "fits", "reason"), rows)


def _moves(explanation: Explanation) -> dict[str, str]:
    if not explanation.redirected_from:
        return {}
    return {"moved": " -> ".join((*explanation.redirected_from, explanation.repo))}


def _why_nothing(explanation: Explanation) -> str:
    if not explanation.resolution.trace:
        versions = ", ".join(f"v{number}" for number in explanation.versions) or "none"
        return f"here: {explanation.choice.name} has no builds; versions: {versions}"
    if explanation.resolution.chosen is None:
        return "here: no build fits this machine"
    if any(each.objection for each in explanation.dependencies):
        return "here: something that it needs cannot be had"
    return "without trust_remote_code"
