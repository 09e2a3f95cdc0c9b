"""One build from beginning to end: read, plan, render, compile, check, package."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.binary import elf
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.backends import rules_for
from kernelmill.builder.check import require_no_findings
from kernelmill.builder.check.exports import read_exports
from kernelmill.builder.check.headers import check_headers
from kernelmill.builder.check.lint import lint_sources
from kernelmill.builder.check.mangled import namespaces
from kernelmill.builder.check.policies import DEFAULT_POLICY, read_policies
from kernelmill.builder.check.symbols import check_symbols
from kernelmill.builder.check.torch_abi import SHIM_SYMBOL
from kernelmill.builder.check.variant import check_doubts, check_floor, check_variant
from kernelmill.builder.compile import Workspace, compile_project, read_dependencies
from kernelmill.builder.errors import PlanError
from kernelmill.builder.package import (
    OUTPUT_FOLDER,
    finish_metadata,
    replace_folder,
    write_metadata,
)
from kernelmill.builder.plan import plan_build, plan_variant
from kernelmill.builder.render import render_project
from kernelmill.builder.render.metadata import draft_metadata
from kernelmill.builder.sources import built_from
from kernelmill.builder.targets import find_target
from kernelmill.builder.toolchain import compiler_versions
from kernelmill.builder.toolchain.git import probe_source_state
from kernelmill.builder.workplace import (
    WORK_FOLDER,
    clear,
    ensure_usable,
    make_folder,
    only_build,
)
from kernelmill.spec.backend import Backend
from kernelmill.spec.manifest import Torch
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kernelmill.binary.symbols import Linkage
    from kernelmill.builder.check import Finding
    from kernelmill.builder.package import Origin
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.request import Goal
    from kernelmill.builder.sdk.store import Sdk, Store
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.builder.toolchain.torch import TorchTarget
    from kernelmill.spec.metadata import Metadata
    from kernelmill.spec.variant import ArchVariant

_SOURCE_DATE_EPOCH = "315532800"
"""1980-01-01, the first day that zip files know: ``__DATE__``, unless the caller sets another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltKernel:
    """A finished variant."""

    plan: BuildPlan
    folder: Path
    metadata: Metadata


def plan_goal(
    goal: Goal,
    tree: KernelTree,
    toolchain: Toolchain,
    *,
    store: Store | None = None,
    abi_stubs: Sdk | None = None,
) -> BuildPlan:
    """Plan one variant.

    Args:
        goal: what to build.
        tree: the kernel's sources.
        toolchain: the tools, and the installed torch.
        store: where to look for the torch of a variant that is not for the installed one.
        abi_stubs: what to link in place of this machine's C and C++ libraries, if anything.

    Raises:
        PlanError: it cannot be built from this kernel, or not against this torch.
        HostError: this machine cannot build it; an SDK or a tool is missing.
    """
    rules = rules_for(goal.backend)
    wanted = goal.variant
    is_bound = isinstance(tree.manifest.framework, Torch)
    if wanted is None and is_bound and goal.backend is Backend.CUDA and toolchain.torch:
        # The installed torch may be one without CUDA: then its version is built for, with the
        # headers of one that has it.
        wanted = plan_variant(
            tree, toolchain, rules, target=toolchain.torch, asked_version=goal.version
        )
    target = None
    if store and wanted and _is_for_torch(wanted, tree):
        target = find_target(wanted, toolchain, store)
    plan = plan_build(
        tree,
        toolchain,
        rules,
        asked_version=goal.version,
        target=target,
        abi_stubs=abi_stubs,
    )
    if goal.variant not in {None, plan.variant}:
        raise PlanError(
            f"cannot build {goal.variant}: with {plan.against} this is {plan.variant}",
            where="--variant",
            hint="name a variant that `kernel-builder list-variants` prints",
        )
    rules.require_ready(plan, tree, toolchain)
    return plan


def _is_for_torch(variant: ArchVariant, tree: KernelTree) -> bool:
    return isinstance(tree.manifest.framework, Torch) and variant.framework.kind != "tvm-ffi"


def build_variant(
    plan: BuildPlan,
    tree: KernelTree,
    toolchain: Toolchain,
    *,
    env: Mapping[str, str],
    on_line: Callable[[str], None],
    manylinux: str = DEFAULT_POLICY,
    is_release: bool = False,
    origin: Origin | None = None,
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
        origin: where the sources come from; None to ask git.

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
        clear(workspace.stage)
        render_project([plan]).write(workspace.project, force=True)
        _warn(plan, lint_sources(tree), on_line)
        tool_env = build_environment(env, root=tree.root)
        compile_project(plan, toolchain, workspace, env=tool_env, on_line=on_line)
        staged = workspace.stage / str(plan.variant)
        portability = check_floor(staged, floor=manylinux)
        findings = (
            *_check_sources(tree, toolchain, workspace),
            *check_variant(staged, draft_metadata(plan), plan.variant),
            *_check_torch(plan, staged),
            *(portability if is_release else ()),
        )
        require_no_findings(findings, where=str(plan.variant))
        _warn(plan, (*portability, *check_doubts(staged, plan.variant)), on_line)
        metadata = _describe(plan, tree, toolchain, staged, origin)
        write_metadata(staged, metadata)
        target = tree.root / OUTPUT_FOLDER / str(plan.variant)
        replace_folder(staged, target, trash=workspace.folder / "old")
    return BuiltKernel(plan=plan, folder=target, metadata=metadata)


def _warn(plan: BuildPlan, findings: Iterable[Finding], on_line: Callable[[str], None]) -> None:
    for finding in findings:
        hint = f"; {finding.hint}" if finding.hint else ""
        on_line(f"{plan.variant}: warning: {finding.problem}{hint}")


def _check_sources(
    tree: KernelTree, toolchain: Toolchain, workspace: Workspace
) -> tuple[Finding, ...]:
    read = [workspace.original(path) for path in read_dependencies(toolchain, workspace)]
    return check_headers(read, root=tree.root, known=tree.files, ignored=tree.root / WORK_FOLDER)


def _check_torch(plan: BuildPlan, staged: Path) -> tuple[Finding, ...]:
    """Compare with the stubs of a torch that is not installed: nothing here can load the build.

    A header may declare what no library exports; a linker says nothing about that.
    """
    torch = plan.torch
    if torch is None or torch.is_installed:
        return ()
    exports, system = _read_exports(Path(torch.lib)), read_policies().libraries
    linkages = (
        read_linkage(elf.parse(it.read_bytes(), where=it.name)) for it in staged.glob("*.so")
    )
    return tuple(
        finding
        for it in linkages
        for finding in check_symbols(
            it, system=system, torch=exports | unseen_symbols(it, torch, plan.backend)
        )
    )


_read_exports = cache(read_exports)


def unseen_symbols(linkage: Linkage, torch: TorchTarget, backend: Backend) -> frozenset[str]:
    """Return what a variant uses of libraries that only a build of torch for its backend has.

    Nobody can look them up in another build of torch.
    """
    names = (it.name for it in linkage.undefined)
    if backend is Backend.ROCM and not torch.hip:
        return frozenset(it for it in names if {*namespaces(it)[1:2]} & {"hip", "cuda"})
    if backend is Backend.CUDA and not torch.cuda:
        return frozenset(it for it in names if SHIM_SYMBOL.fullmatch(it) and "_cuda" in it)
    return frozenset()


def _describe(
    plan: BuildPlan, tree: KernelTree, toolchain: Toolchain, staged: Path, origin: Origin | None
) -> Metadata:
    files = built_from(tree, plan.backend)
    return finish_metadata(
        plan,
        staged,
        source=origin.source if origin else probe_source_state(tree.root, files),
        origin=origin,
        compilers=compiler_versions(
            toolchain, plan.backend, plan.archs or (), plan.variant.compute.version
        ),
        inputs={
            "build.toml": tree.manifest_sha256,
            **plan.inputs,
            **rules_for(plan.backend).inputs(plan, toolchain),
        },
    )


def build_environment(env: Mapping[str, str], *, root: Path) -> dict[str, str]:
    """Return the environment of compilers: ``env``, with language, time zone and date fixed.

    NOTE: what else compilers obey stays: ``CXXFLAGS`` and ``CPATH`` change bytes, and no id.

    Args:
        env: the caller's, whose ``SOURCE_DATE_EPOCH`` and settings for ccache are kept.
        root: the kernel's folder; ccache looks away from where it is.
    """
    fixed = {"LC_ALL": "C", "TZ": "UTC", "NINJA_STATUS": "[%f/%t] "}
    ccache = {"CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "1", "CCACHE_ABSSTDERR": "1"}
    return {"SOURCE_DATE_EPOCH": _SOURCE_DATE_EPOCH, **ccache, **env, **fixed}
