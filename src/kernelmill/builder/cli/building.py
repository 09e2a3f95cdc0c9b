"""What ``kernel-builder build`` does with its arguments."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelmill.builder import offers, request, sources
from kernelmill.builder.backends import BACKENDS
from kernelmill.builder.cli import noarch
from kernelmill.builder.cli.options import note, print_json
from kernelmill.builder.cli.progress import open_watcher
from kernelmill.builder.cli.summary import outcome_json, status_of, summary
from kernelmill.builder.compile import step_of
from kernelmill.builder.errors import PlanError
from kernelmill.builder.job import Job, Outcome, read_site, run_job
from kernelmill.builder.request import Goal, Request
from kernelmill.builder.runners.choice import IN_ORDER, PROCESSES, is_cluster, open_runner
from kernelmill.builder.runners.running import run_jobs
from kernelmill.spec.errors import HostError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kernelmill.builder.job import Site


def run(args: argparse.Namespace) -> int:
    """Build, and print the folders of the variants; the status is honest when some were not."""
    tree = sources.read_tree(args.dir.resolve())
    if args.release:
        from kernelmill.builder.cli import release  # noqa: PLC0415 - most builds are none

        return release.run_build(args, tree)
    _check_options(args)
    if tree.is_python_only:
        return noarch.run_build(args, tree)
    env = {**os.environ, **({"MAX_JOBS": str(args.jobs)} if args.jobs else {})}
    site = read_site(tree, env, python=sys.executable, wants_abi_stubs=args.manylinux)
    wanted = _wanted(args, site)
    for backend in wanted.skipped:
        note(f"leaving out {backend}: this version builds for {' and '.join(BACKENDS)}")
    jobs = [
        Job(
            root=tree.root,
            goal=goal,
            env=env,
            python=sys.executable,
            wants_abi_stubs=args.manylinux,
        )
        for goal in wanted.goals
    ]
    started = time.monotonic()
    outcomes = _run(jobs, site, args)
    if len(outcomes) > 1:
        note(summary(outcomes, seconds=time.monotonic() - started))
    if args.json:
        print_json({"variants": [outcome_json(it) for it in outcomes]})
    else:
        print("".join(f"{it.folder}\n" for it in outcomes if it.folder), end="")
    return status_of(outcomes)


def _check_options(args: argparse.Namespace) -> None:
    if args.all and (args.variant or args.rocm):
        raise PlanError("--all names every variant already", hint="leave out --variant and --rocm")
    if (args.torch or args.available) and not args.all:
        raise PlanError("--torch and --available choose from the matrix", hint="add --all")
    if args.available and is_cluster(args.executor):
        raise PlanError(
            "--available looks at this machine, and a cluster builds on others",
            hint="leave it out: what no worker can build is told",
        )


def _wanted(args: argparse.Namespace, site: Site) -> Request:
    """Return what to build. Only with ``--all`` may some of it turn out not to be possible."""
    if not args.all:
        wanted = request.parse_request(
            site.tree.manifest, backends=args.backend, variants=args.variant, rocm=args.rocm
        )
        if is_cluster(args.executor):
            return wanted  # its workers know what they can build
        if not (args.backend or args.variant):
            return replace(wanted, goals=_possible(wanted.goals, site))
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


def _possible(goals: tuple[Goal, ...], site: Site) -> tuple[Goal, ...]:
    """Leave out the backends that this machine lacks a tool for, when none was asked for by name.

    Raises:
        HostError: it lacks something for each of them.
    """
    kept, faults = [], []
    for goal in goals:
        try:
            site.plan(goal)
        except HostError as fault:
            faults.append((goal, fault))
        else:
            kept.append(goal)
    if not kept:
        raise faults[0][1]
    for goal, error in faults:
        note(f"leaving out {goal}: {error.problem}; {error.hint}")
    return tuple(kept)


def _is_available(goal: Goal, site: Site) -> bool:
    outcome = offers.objection_to(goal, site.tree, site.toolchain, site.store)
    if outcome:
        note(f"leaving out {goal}: {outcome}")
    return not outcome


def _run(jobs: Sequence[Job], site: Site, args: argparse.Namespace) -> Sequence[Outcome]:
    if args.executor == IN_ORDER or (len(jobs) == 1 and args.executor is None):
        labelled = zip(jobs, _labels(len(jobs)), strict=True)
        return [_build(job, site, label, args) for job, label in labelled]
    where = args.executor or PROCESSES
    runner = open_runner(where, site, is_verbose=args.verbose, say=note)
    names = [str(job.goal) for job in jobs]
    with runner, open_watcher(names, is_verbose=args.verbose) as watcher:
        return run_jobs(jobs, runner, watcher.show)


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
