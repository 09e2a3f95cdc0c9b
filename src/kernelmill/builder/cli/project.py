"""The generated project of a kernel, for the commands that write and remove it."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelmill.builder.backends import BACKENDS, rules_for
from kernelmill.builder.backends.elsewhere import RULES, plan_elsewhere
from kernelmill.builder.errors import PlanError
from kernelmill.builder.noarch.plan import choose_noarch, plan_noarch
from kernelmill.builder.plan import plan_build
from kernelmill.builder.render import render_project
from kernelmill.builder.render.noarch import render_noarch_project
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain import probe_toolchain
from kernelmill.spec.backend import Backend
from kernelmill.spec.metadata import SourceState

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from kernelmill.builder.fileset import FileSet
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.sources import KernelTree

_IDENTITY = re.compile(r"[A-Za-z0-9_]+")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a user says of a build in place of what would be found out."""

    unique_id: str | None = None
    source: SourceState | None = None


def add_identity(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``read_identity``."""
    parser.add_argument(
        "--unique-id",
        metavar="ID",
        help="the last part of the operators' names; by default made from the sources",
    )
    parser.add_argument(
        "--kernel-sha", metavar="SHA", help="the commit of the sources, for metadata.json"
    )
    parser.add_argument(
        "--kernel-dirty", action="store_true", help="the sources are not what the commit holds"
    )


def read_identity(args: argparse.Namespace) -> Identity:
    """Read the arguments.

    Raises:
        PlanError: one cannot be.
    """
    if args.unique_id is not None and not _IDENTITY.fullmatch(args.unique_id):
        raise PlanError(
            f"{args.unique_id!r} cannot be part of an operator's name",
            where="--unique-id",
            hint="use letters, digits and underscores",
        )
    if args.kernel_sha is None:
        if args.kernel_dirty:
            raise PlanError("--kernel-dirty says something of a commit", hint="add --kernel-sha")
        return Identity(unique_id=args.unique_id)
    commit = args.kernel_sha.lower()
    if not _COMMIT.fullmatch(commit):
        raise PlanError(
            f"{args.kernel_sha!r} is not a git object id",
            where="--kernel-sha",
            hint="write 40 or 64 hex digits",
        )
    return Identity(
        unique_id=args.unique_id, source=SourceState(commit=commit, is_dirty=args.kernel_dirty)
    )


def plan_project(
    root: Path,
    target: Path,
    *,
    backends: Sequence[str] | None,
    identity: Identity | None = None,
) -> FileSet:
    """Return the project in ``target`` that builds the kernel in ``root``; both are absolute."""
    tree = read_tree(root)
    folder, known = os.path.relpath(root, target), identity or Identity()
    if tree.is_python_only:
        chosen = choose_noarch(tree, backends=backends or ())
        noarch = [plan_noarch(tree, it) for it in chosen]
        if known.unique_id:
            noarch = [replace(it, unique_id=known.unique_id) for it in noarch]
        return render_noarch_project(noarch, root=folder, source=known.source)
    plans = _plan(tree, backends)
    if known.unique_id:
        plans = [replace(it, unique_id=known.unique_id) for it in plans]
    return render_project(plans, root=folder, source=known.source)


def _plan(tree: KernelTree, asked: Sequence[str] | None) -> list[BuildPlan]:
    """Plan each backend, also those that only another machine can build for."""
    toolchain = probe_toolchain(os.environ, python=sys.executable)
    names = [name.strip() for word in asked or () for name in word.split(",")]
    wanted = [Backend.parse(name, where="--backend") for name in names]
    every = wanted or [it for it in tree.manifest.general.backends if it in BACKENDS or it in RULES]
    if not every:
        rules_for(tree.manifest.general.backends[0])  # says what that one takes
    return [
        plan_elsewhere(tree, toolchain, RULES[it])
        if it in RULES and it not in BACKENDS
        else plan_build(tree, toolchain, rules_for(it))
        for it in dict.fromkeys(every)
    ]
