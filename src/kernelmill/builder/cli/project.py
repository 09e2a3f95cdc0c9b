"""The generated project of a kernel, for the commands that write and remove it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelmill.builder.backends import BACKENDS, rules_for
from kernelmill.builder.backends.elsewhere import RULES, plan_elsewhere
from kernelmill.builder.cli.identity import Identity
from kernelmill.builder.noarch.plan import choose_noarch, plan_noarch
from kernelmill.builder.plan import plan_build
from kernelmill.builder.render import render_project
from kernelmill.builder.render.noarch import render_noarch_project
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain import probe_toolchain
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelmill.builder.fileset import FileSet
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.sources import KernelTree


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
