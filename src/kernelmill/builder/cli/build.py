"""``kernel-builder build``: build a kernel, one variant or a whole matrix of them."""

from __future__ import annotations

import os
import sys
from argparse import BooleanOptionalAction
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelmill.builder import offers, request, sources
from kernelmill.builder.backends import BACKENDS
from kernelmill.builder.cli import noarch, release
from kernelmill.builder.cli.options import add_backend, add_folder, add_json, note, print_json
from kernelmill.builder.cli.summary import outcome_json, summary
from kernelmill.builder.compile import step_of
from kernelmill.builder.errors import PlanError
from kernelmill.builder.job import Job, Outcome, read_site, run_job
from kernelmill.builder.request import Goal, Request

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.job import Site

HELP = "build a kernel into build/<variant>/, against the installed torch or the headers of others"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add_backend(parser)
    parser.add_argument(
        "--variant", action="append", metavar="NAME", help="a variant to build; may be repeated"
    )
    parser.add_argument("--rocm", metavar="M.m", help="the ROCm to link for")
    parser.add_argument(
        "--all", action="store_true", help="build every variant that `list-variants` prints"
    )
    parser.add_argument(
        "--torch",
        action="append",
        metavar="M.m",
        help="with --all: for these PyTorch versions only",
    )
    parser.add_argument(
        "--available", action="store_true", help="with --all: leave out what cannot be built here"
    )
    parser.add_argument(
        "--manylinux",
        action=BooleanOptionalAction,
        help="link for manylinux_2_28, with the SDK abi-stubs; by default if it is here",
    )
    release.configure_release(parser)
    add_json(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print what the tools print")


def run(args: argparse.Namespace) -> int:
    """Build, and print the folders of the variants; status 1 when not all were built."""
    tree = sources.read_tree(args.dir.resolve())
    if args.release:
        return release.run_build(args, tree)
    _check_options(args)
    if tree.is_python_only:
        return noarch.run_build(args, tree)
    site = read_site(tree, os.environ, python=sys.executable, wants_abi_stubs=args.manylinux)
    wanted = _wanted(args, site)
    for backend in wanted.skipped:
        note(f"leaving out {backend}: this version builds for {' and '.join(BACKENDS)}")
    common = Job(
        root=tree.root,
        goal=wanted.goals[0],
        env=dict(os.environ),
        python=sys.executable,
        wants_abi_stubs=args.manylinux,
    )
    jobs = [replace(common, goal=goal) for goal in wanted.goals]
    labelled = zip(jobs, _labels(len(jobs)), strict=True)
    outcomes = [_build(job, site, label, args) for job, label in labelled]
    if len(outcomes) > 1:
        note(summary(outcomes))
    if args.json:
        print_json({"variants": [outcome_json(it) for it in outcomes]})
    else:
        print("".join(f"{it.folder}\n" for it in outcomes if it.folder), end="")
    return 0 if all(it.result == "built" for it in outcomes) else 1


def _check_options(args: argparse.Namespace) -> None:
    if args.all and (args.variant or args.rocm):
        raise PlanError("--all names every variant already", hint="leave out --variant and --rocm")
    if (args.torch or args.available) and not args.all:
        raise PlanError("--torch and --available choose from the matrix", hint="add --all")


def _wanted(args: argparse.Namespace, site: Site) -> Request:
    """Return what to build. Only with ``--all`` may some of it turn out not to be possible."""
    if not args.all:
        wanted = request.parse_request(
            site.tree.manifest, backends=args.backend, variants=args.variant, rocm=args.rocm
        )
        for goal in wanted.goals:
            site.plan(goal)
        return wanted
    rows = offers.list_rows(
        site.tree,
        site.toolchain,
        backends=request.parse_backends(args.backend or (), where="--backend") or None,
        torches=request.parse_torches(args.torch or ()),
    )
    goals = tuple(Goal.of(row.variant) for row in rows)
    if args.available:
        goals = tuple(goal for goal in goals if _is_available(goal, site))
    if not goals:
        raise PlanError("there is nothing to build", hint="`kernel-builder list-variants` says why")
    return Request(goals=goals)


def _is_available(goal: Goal, site: Site) -> bool:
    outcome = offers.objection_to(goal, site.tree, site.toolchain, site.store)
    if outcome:
        note(f"leaving out {goal}: {outcome}")
    return not outcome


def _labels(count: int) -> list[str]:
    return [f"[{number}/{count}] " if count > 1 else "" for number in range(1, count + 1)]


def _build(job: Job, site: Site, label: str, args: argparse.Namespace) -> Outcome:
    def on_line(line: str) -> None:
        if shown := line.rstrip() if args.verbose else step_of(line):
            note(f"  {shown}")

    outcome = run_job(job, site=site, tell=lambda text: note(label + text), on_line=on_line)
    if outcome.error is not None:
        if not label:
            raise outcome.error
        note(f"{label}{outcome.variant}: {outcome.error}")
    return outcome
