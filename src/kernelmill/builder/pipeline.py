"""One build from beginning to end: read, plan, render, compile, check, package."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.builder.backends import rules_for
from kernelmill.builder.check import require_no_findings
from kernelmill.builder.check.headers import check_headers
from kernelmill.builder.check.lint import lint_sources
from kernelmill.builder.check.policies import DEFAULT_POLICY
from kernelmill.builder.check.variant import check_doubts, check_floor, check_variant
from kernelmill.builder.compile import Workspace, compile_project, read_dependencies
from kernelmill.builder.errors import PlanError
from kernelmill.builder.package import (
    OUTPUT_FOLDER,
    finish_metadata,
    replace_folder,
    write_metadata,
)
from kernelmill.builder.plan import plan_build
from kernelmill.builder.render import render_project
from kernelmill.builder.render.metadata import draft_metadata
from kernelmill.builder.sources import built_from
from kernelmill.builder.toolchain import compiler_versions
from kernelmill.builder.toolchain.git import probe_source_state
from kernelmill.builder.workplace import WORK_FOLDER, ensure_usable, make_folder, only_build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from kernelmill.builder.check import Finding
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.request import Request
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.metadata import Metadata

_SOURCE_DATE_EPOCH = "315532800"
"""1980-01-01, the first day that zip files know; the value of ``__DATE__`` in every build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltKernel:
    """A finished variant."""

    plan: BuildPlan
    folder: Path
    metadata: Metadata


def plan_variants(
    tree: KernelTree, toolchain: Toolchain, request: Request
) -> tuple[BuildPlan, ...]:
    """Plan everything that was asked for, before anything is started.

    Raises:
        PlanError: something cannot be built from this kernel, or not against this torch.
        ToolchainError: this machine cannot build something.
    """
    plans = tuple(
        plan_build(tree, toolchain, rules_for(backend), asked_version=request.version_for(backend))
        for backend in request.backends
    )
    for plan in plans:
        if request.variant not in {None, plan.variant}:
            raise PlanError(
                f"cannot build {request.variant}: with the installed torch "
                f"{toolchain.torch.release} this is {plan.variant}",
                where="--variant",
                hint="install the torch that the variant is for",
            )
    return plans


def build_variant(
    plan: BuildPlan,
    tree: KernelTree,
    toolchain: Toolchain,
    *,
    env: Mapping[str, str],
    on_line: Callable[[str], None],
    manylinux: str = DEFAULT_POLICY,
    is_release: bool = False,
) -> BuiltKernel:
    """Build one variant into ``build/<variant>/``, which is replaced only by a whole one.

    Args:
        plan: what to build.
        tree: the sources.
        toolchain: the tools.
        env: the environment of the tools.
        on_line: called with each line that a tool prints.
        manylinux: the policy of the oldest system to run on.
        is_release: whether a binary that asks for a newer system is refused, or warned of.

    Raises:
        CompileError: the sources do not compile.
        BuildKilled: a compiler was killed.
        CheckError: the binary is not what the plan says.
        HostError: a tool is missing, or this variant is being built already.
    """
    ensure_usable(tree.root)
    workspace = Workspace(root=tree.root, folder=tree.root / WORK_FOLDER / str(plan.variant))
    make_folder(workspace.folder)
    with only_build(workspace.folder):
        shutil.rmtree(workspace.stage, ignore_errors=True)
        render_project([plan]).write(workspace.project, force=True)
        _warn(plan, lint_sources(tree), on_line)
        tool_env = build_environment(env, root=tree.root)
        compile_project(plan, toolchain, workspace, env=tool_env, on_line=on_line)
        staged = workspace.stage / str(plan.variant)
        portability = check_floor(staged, floor=manylinux)
        findings = (
            *_check_sources(tree, toolchain, workspace),
            *check_variant(staged, draft_metadata(plan), plan.variant),
            *(portability if is_release else ()),
        )
        require_no_findings(findings, where=str(plan.variant))
        _warn(plan, (*portability, *check_doubts(staged, plan.variant)), on_line)
        metadata = _describe(plan, tree, toolchain, staged)
        write_metadata(staged, metadata)
        target = tree.root / OUTPUT_FOLDER / str(plan.variant)
        replace_folder(staged, target, trash=workspace.folder / "old")
    return BuiltKernel(plan=plan, folder=target, metadata=metadata)


def _warn(plan: BuildPlan, findings: Iterable[Finding], on_line: Callable[[str], None]) -> None:
    for finding in findings:
        on_line(f"{plan.variant}: warning: {finding.problem}")


def _check_sources(
    tree: KernelTree, toolchain: Toolchain, workspace: Workspace
) -> tuple[Finding, ...]:
    read = [workspace.original(path) for path in read_dependencies(toolchain, workspace)]
    return check_headers(read, root=tree.root, known=tree.files, ignored=tree.root / WORK_FOLDER)


def _describe(plan: BuildPlan, tree: KernelTree, toolchain: Toolchain, staged: Path) -> Metadata:
    return finish_metadata(
        plan,
        staged,
        source=probe_source_state(tree.root, built_from(tree, plan.backend)),
        compilers=compiler_versions(toolchain, plan.backend, plan.archs or ()),
        inputs={"build.toml": tree.manifest_sha256},
    )


def build_environment(env: Mapping[str, str], *, root: Path) -> dict[str, str]:
    """Return the environment of compilers: ``env`` with what would change bytes fixed.

    Args:
        env: the caller's, whose settings for ccache are kept.
        root: the kernel's folder; ccache looks away from where it is.
    """
    fixed = {"LC_ALL": "C", "TZ": "UTC", "NINJA_STATUS": "[%f/%t] "}
    ccache = {"CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "1", "CCACHE_ABSSTDERR": "1"}
    return {"SOURCE_DATE_EPOCH": _SOURCE_DATE_EPOCH, **ccache, **env, **fixed}
