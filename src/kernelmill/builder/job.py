"""Build one variant: a function from plain values to plain values, which can be sent elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from kernelmill.builder.compile import OUR_WARNING
from kernelmill.builder.pipeline import build_variant, plan_goal
from kernelmill.builder.sdk.store import open_store
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain import probe_toolchain
from kernelmill.builder.wording import count_of
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import KernelError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kernelmill.builder.package import Origin
    from kernelmill.builder.pipeline import BuiltKernel
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.request import Goal
    from kernelmill.builder.sdk.store import Sdk, Store
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain

ABI_STUBS = ("abi-stubs", "2.28")
Result = Literal["built", "failed", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to build, where, with what. Nothing in it is bound to this process."""

    root: Path
    """The kernel's folder."""
    goal: Goal
    env: Mapping[str, str]
    python: str
    wants_abi_stubs: bool | None = None
    """Whether to link for manylinux_2_28; None: if the SDK for it is here."""
    origin: Origin | None = None
    """Where the sources come from; None to ask git."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a job."""

    result: Result
    """``unavailable``: nothing was started, because this machine or this kernel cannot do it."""
    variant: str
    """Or the backend, where planning did not come as far as a variant."""
    torch: str = ""
    """The release that was compiled against; empty for a kernel of TVM FFI."""
    is_installed: bool = False
    """Whether what was compiled against is installed here, so that the build can be loaded."""
    folder: Path | None = None
    id: str = ""
    archs: tuple[str, ...] | None = None
    is_cross: bool = False
    is_portable: bool = False
    """Whether it was linked for manylinux_2_28."""
    seconds: float = 0.0
    warnings: int = 0
    error: KernelError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a job finds where it runs: shared by the jobs of one process."""

    tree: KernelTree
    toolchain: Toolchain
    store: Store
    abi_stubs: Sdk | None

    def plan(self, goal: Goal) -> BuildPlan:
        """Plan one variant; see ``plan_goal``."""
        return plan_goal(
            goal, self.tree, self.toolchain, store=self.store, abi_stubs=self.abi_stubs
        )


def read_site(
    tree: KernelTree, env: Mapping[str, str], *, python: str, wants_abi_stubs: bool | None = None
) -> Site:
    """Look at the machine that is to build ``tree``.

    Raises:
        HostError: nothing can be built here, or the SDK that is asked for is missing.
    """
    store = open_store(env)
    stubs = None
    if wants_abi_stubs is not False:
        stubs = store.require(*ABI_STUBS) if wants_abi_stubs else store.find(*ABI_STUBS)
    has_cuda = Backend.CUDA in tree.manifest.general.backends
    toolchain = probe_toolchain(env, python=python, wants_cuda=has_cuda)
    return Site(tree=tree, toolchain=toolchain, store=store, abi_stubs=stubs)


def run_job(
    job: Job,
    *,
    site: Site | None = None,
    tell: Callable[[str], None] = lambda _: None,
    on_line: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Build one variant. What goes wrong is part of the outcome.

    Args:
        job: what to do.
        site: what was found here already; None to look.
        tell: called with a sentence when the build starts and when it ends.
        on_line: called with each line that a tool prints.
    """
    started = time.monotonic()
    try:
        site = site or read_site(
            read_tree(job.root),
            job.env,
            python=job.python,
            wants_abi_stubs=job.wants_abi_stubs,
        )
        plan = site.plan(job.goal)
    except KernelError as error:
        return Outcome(result="unavailable", variant=str(job.goal), error=error)
    tell(f"building {plan.variant} with {count_of(plan.jobs, 'job')}, against {plan.against}")
    warnings: list[str] = []

    def watch(line: str) -> None:
        if ": warning: " in line:
            warnings.append(line)
        on_line(line)

    built, problem = _build(plan, site, job, watch)
    seconds = time.monotonic() - started
    theirs = sum(not OUR_WARNING.match(line) for line in warnings)
    counted = f", {count_of(theirs, 'compiler warning')}: -v shows them" if theirs else ""
    tell(f"{'built' if built else 'failed'} {plan.variant} in {seconds:.1f} s{counted}")
    return Outcome(
        result="built" if built else "failed",
        variant=str(plan.variant),
        torch=str(plan.torch.release) if plan.torch else "",
        is_installed=plan.is_installed,
        folder=built.folder if built else None,
        id=built.metadata.id if built else "",
        archs=plan.archs,
        is_cross=plan.is_cross,
        is_portable=plan.abi_stubs is not None,
        seconds=seconds,
        warnings=len(warnings),
        error=problem,
    )


def _build(
    plan: BuildPlan, site: Site, job: Job, on_line: Callable[[str], None]
) -> tuple[BuiltKernel | None, KernelError | None]:
    try:
        built = build_variant(
            plan,
            site.tree,
            site.toolchain,
            env=job.env,
            on_line=on_line,
            # Who insists on it is told when it was not reached.
            is_release=job.wants_abi_stubs is True,
            origin=job.origin,
        )
    except KernelError as error:
        return None, error
    return built, None
