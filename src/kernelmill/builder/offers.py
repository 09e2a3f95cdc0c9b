"""What can be built of a kernel on this machine, and why the rest cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.builder.backends import rules_for
from kernelmill.builder.noarch.plan import noarch_variants, plan_noarch
from kernelmill.builder.plan import plan_build
from kernelmill.spec.errors import KernelError

if TYPE_CHECKING:
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.backend import Backend
    from kernelmill.spec.variant import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One backend of a kernel: its variant, or the reason why there is none."""

    backend: Backend
    variant: Variant | None
    archs: tuple[str, ...]
    objection: str


def list_offers(tree: KernelTree, toolchain: Toolchain) -> tuple[Offer, ...]:
    """Return one offer for each backend of the manifest, in its order."""
    return tuple(_offer(tree, toolchain, backend) for backend in tree.manifest.general.backends)


def list_noarch_offers(tree: KernelTree) -> tuple[Offer, ...]:
    """Return one offer for each variant of a Python-only kernel: all of them can be made here."""
    plans = [plan_noarch(tree, variant) for variant in noarch_variants(tree)]
    return tuple(
        Offer(backend=it.backend, variant=it.variant, archs=it.archs or (), objection="")
        for it in plans
    )


def _offer(tree: KernelTree, toolchain: Toolchain, backend: Backend) -> Offer:
    try:
        plan = plan_build(tree, toolchain, rules_for(backend))
    except KernelError as error:
        reason = f"{error.problem}; {error.hint}" if error.hint else error.problem
        return Offer(backend=backend, variant=None, archs=(), objection=reason)
    return Offer(backend=backend, variant=plan.variant, archs=plan.archs or (), objection="")
