"""What can be built of a kernel on this machine, and what is missing for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.cuda.toolchain import require
from kernelmill.builder.errors import PlanError, SdkMissing
from kernelmill.builder.matrix import load_matrix, pick_series, rows_of, tvm_ffi_rows
from kernelmill.builder.noarch.plan import noarch_variants, plan_noarch
from kernelmill.builder.pipeline import plan_goal
from kernelmill.builder.request import Goal
from kernelmill.builder.sources import torch_table
from kernelmill.builder.targets import release_for
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import KernelError
from kernelmill.spec.manifest import TvmFfi
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelmill.builder.matrix import Matrix, Row
    from kernelmill.builder.sdk.store import Store
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.variant import ArchVariant, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One variant of a kernel, or one backend that has none on these platforms."""

    backend: Backend
    variant: Variant | None
    torch: str = ""
    """The release to compile against; empty where it is none of PyTorch's."""
    is_installed: bool = False
    """Whether what it is compiled against is installed, so that the build can be loaded here."""
    archs: tuple[str, ...] = ()
    objection: str = ""
    """Why it cannot be built here; empty when it can."""
    missing: tuple[str, ...] = ()
    """SDKs to fetch first."""


def list_rows(
    tree: KernelTree,
    toolchain: Toolchain,
    *,
    backends: Sequence[Backend] | None = None,
    torches: Sequence[tuple[int, int]] | None = None,
    is_everywhere: bool = False,
) -> tuple[Row, ...]:
    """Return the matrix of a kernel.

    Args:
        tree: the kernel.
        toolchain: its torch is part of the matrix too, and its platform is the only one.
        backends: those to look at; None for all of the kernel's.
        torches: versions of PyTorch; None for all that the kernel wants.
        is_everywhere: whether to list other platforms too.

    Raises:
        PlanError: no version of PyTorch fits, or one is asked for that is not compiled against.
    """
    matrix = matrix_here(toolchain)
    asked = tree.manifest.general.backends if backends is None else backends
    if isinstance(tree.manifest.framework, TvmFfi):
        rows = _tvm_ffi_rows(matrix, tree, toolchain, asked, torches)
    else:
        torch = torch_table(tree.manifest)
        chosen = pick_series(matrix, torch, torches, where=tree.where("torch"))
        rows = rows_of(matrix, tree.manifest, torch, chosen, backends=asked)
    here = f"{toolchain.cpu}-linux"
    return tuple(row for row in rows if is_everywhere or row.platform == here)


def _tvm_ffi_rows(
    matrix: Matrix,
    tree: KernelTree,
    toolchain: Toolchain,
    backends: Sequence[Backend],
    torches: Sequence[tuple[int, int]] | None,
) -> tuple[Row, ...]:
    """Return the matrix of a kernel of TVM FFI: for the installed one, or nothing."""
    if torches:
        raise PlanError(
            "the kernel is compiled against TVM FFI, not against a torch",
            where="--torch",
            hint="leave it out",
        )
    found = toolchain.tvm_ffi
    return tvm_ffi_rows(matrix, tree.manifest, found.version, backends=backends) if found else ()


def list_noarch_offers(tree: KernelTree) -> tuple[Offer, ...]:
    """Return one offer for each variant of a Python-only kernel: all of them can be made here."""
    plans = [plan_noarch(tree, variant) for variant in noarch_variants(tree)]
    return tuple(
        Offer(backend=it.backend, variant=it.variant, archs=it.archs or ()) for it in plans
    )


def matrix_here(toolchain: Toolchain) -> Matrix:
    """Return the matrix, with the series of the installed torch."""
    matrix = load_matrix()
    return matrix.with_torch(toolchain.torch.release.series) if toolchain.torch else matrix


def list_offers(
    tree: KernelTree, toolchain: Toolchain, store: Store, *, is_everywhere: bool = False
) -> tuple[Offer, ...]:
    """Return one offer for each variant, and for each backend of the manifest that has none."""
    rows = list_rows(tree, toolchain, is_everywhere=is_everywhere)
    offers = []
    for backend in tree.manifest.general.backends:
        mine = [row.variant for row in rows if row.variant.compute.backend is backend]
        offers += [_offer(tree, toolchain, store, it) for it in mine]
        if not mine:
            offers.append(_no_variant(tree, toolchain, backend))
    return tuple(offers)


def _offer(tree: KernelTree, toolchain: Toolchain, store: Store, variant: ArchVariant) -> Offer:
    backend = variant.compute.backend
    release = "" if variant.framework.kind == "tvm-ffi" else release_for(variant)
    try:
        plan = plan_goal(Goal.of(variant), tree, toolchain, store=store)
    except SdkMissing as error:
        names = tuple(dict.fromkeys((error.name, *_missing_toolkit(variant, toolchain))))
        more = f"; kernel-builder sdk fetch {' '.join(names)}"
        return Offer(
            backend=backend,
            variant=variant,
            torch=release,
            objection=_reason(error) if len(names) == 1 else error.problem + more,
            missing=names,
        )
    except KernelError as error:
        return Offer(backend=backend, variant=variant, torch=release, objection=_reason(error))
    return Offer(
        backend=backend,
        variant=variant,
        torch=release if plan.torch is None else str(plan.torch.release),
        is_installed=plan.is_installed,
        archs=plan.archs or (),
    )


def _missing_toolkit(variant: ArchVariant, toolchain: Toolchain) -> Iterator[str]:
    """Yield the CUDA toolkit to fetch: planning stops at the first SDK that is missing."""
    if variant.compute.backend is Backend.CUDA and variant.compute.version is not None:
        try:
            require(toolchain.cuda, variant.compute.version)
        except SdkMissing as error:
            yield error.name
        except KernelError:
            return  # one is there and broken: told when its torch is there too


def _no_variant(tree: KernelTree, toolchain: Toolchain, backend: Backend) -> Offer:
    try:
        plan_goal(Goal(backend=backend), tree, toolchain)
    except KernelError as error:
        return Offer(backend=backend, variant=None, objection=_reason(error))
    nothing = f"the matrix has nothing for {backend} on {toolchain.cpu}-linux"
    return Offer(backend=backend, variant=None, objection=nothing)


def objection_to(goal: Goal, tree: KernelTree, toolchain: Toolchain, store: Store) -> str:
    """Return why ``goal`` cannot be built here, or nothing."""
    try:
        plan_goal(goal, tree, toolchain, store=store)
    except KernelError as error:
        return _reason(error)
    return ""


def _reason(error: KernelError) -> str:
    return f"{error.problem}; {error.hint}" if error.hint else error.problem
