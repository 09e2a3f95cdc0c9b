"""The generated project of a kernel, for the commands that write and remove it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kernelmill.builder.pipeline import plan_variants
from kernelmill.builder.render import render_project
from kernelmill.builder.request import parse_request
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain import probe_toolchain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelmill.builder.fileset import FileSet


def plan_project(root: Path, target: Path, *, backends: Sequence[str] | None) -> FileSet:
    """Return the project in ``target`` that builds the kernel in ``root``; both are absolute."""
    tree = read_tree(root)
    request = parse_request(tree.manifest, backends=backends)
    plans = plan_variants(tree, probe_toolchain(os.environ, python=sys.executable), request)
    return render_project(plans, root=os.path.relpath(root, target))
