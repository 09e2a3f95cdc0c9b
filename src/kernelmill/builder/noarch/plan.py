"""What one build of a Python-only kernel is. Pure values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError
from kernelmill.builder.plan import ops_name, unique_id
from kernelmill.spec.backend import Backend
from kernelmill.spec.manifest import TorchNoarch
from kernelmill.spec.reader import did_you_mean
from kernelmill.spec.values import dataclass
from kernelmill.spec.variant import NoarchVariant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.builder.sources import KernelTree
    from kernelmill.spec.manifest import Manifest

UNIVERSAL = NoarchVariant(name="universal")
UNIVERSAL_EDITIONS = frozenset({1, 2})
"""Editions that know no backends of Python-only kernels: their builds are for all of them."""
_NAMES = {Backend.CANN: "npu"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoarchPlan:
    """One variant without machine code."""

    manifest: Manifest
    backend: Backend
    """For ``torch-universal`` the one that its metadata has to name: the CPU."""
    variant: NoarchVariant
    unique_id: str
    files: tuple[str, ...]
    """What is shipped, relative to the kernel's folder, sorted."""
    archs: tuple[str, ...] | None
    is_cross: bool = False
    """Nothing of it belongs to a machine."""

    @property
    def ops_name(self) -> str:
        """The operators' namespace and the metadata's id."""
        return ops_name(self.manifest, self.variant.name, self.unique_id)


def plan_noarch(tree: KernelTree, variant: NoarchVariant) -> NoarchPlan:
    """Decide everything about one build of a Python-only kernel.

    Raises:
        PlanError: the kernel is not for this variant's backend.
    """
    backend = _backend_of(tree, variant)
    return NoarchPlan(
        manifest=tree.manifest,
        backend=backend,
        variant=variant,
        unique_id=unique_id(
            tree.files,
            manifest_sha256=tree.manifest_sha256,
            backend=variant.name,
            variant=variant,
        ),
        files=tuple(sorted(tree.files)),
        archs=_archs(tree.manifest, backend) if variant != UNIVERSAL else None,
    )


def noarch_variants(tree: KernelTree) -> tuple[NoarchVariant, ...]:
    """Return what a Python-only kernel is built as: one variant for each of its backends.

    A manifest of an edition that had no backends gives ``torch-universal`` alone.
    """
    if tree.edition in UNIVERSAL_EDITIONS:
        return (UNIVERSAL,)
    return tuple(_variant_for(backend) for backend in tree.manifest.general.backends)


def choose_noarch(
    tree: KernelTree, *, backends: Sequence[str] = (), variants: Sequence[str] = ()
) -> tuple[NoarchVariant, ...]:
    """Return the variants that a user asked for by words, or all.

    Raises:
        InputError: a word is no backend or no variant of this kernel.
    """
    if variants and backends:
        raise PlanError("--variant names the backend already", hint="leave out --backend")
    chosen = tuple(_named(tree, it) for it in _split(variants))
    chosen += tuple(
        _variant_for(Backend.parse(name, where="--backend")) for name in _split(backends)
    )
    for it in chosen:
        _backend_of(tree, it)
    return tuple(dict.fromkeys(chosen)) or noarch_variants(tree)


def _split(words: Sequence[str]) -> list[str]:
    return [name.strip() for word in words for name in word.split(",")]


def _named(tree: KernelTree, text: str) -> NoarchVariant:
    variant = parse_variant(text)
    if isinstance(variant, NoarchVariant):
        return variant
    raise PlanError(
        f"{text!r} is compiled, and the kernel is Python only",
        where="--variant",
        hint=f"name one of {_listing(tree)}",
    )


def _variant_for(backend: Backend) -> NoarchVariant:
    return NoarchVariant(name=_NAMES.get(backend, backend.value))


def _backend_of(tree: KernelTree, variant: NoarchVariant) -> Backend:
    if variant == UNIVERSAL:
        return Backend.CPU
    for backend in tree.manifest.general.backends:
        if _variant_for(backend) == variant:
            return backend
    if variant not in map(_variant_for, Backend):
        raise PlanError(
            f"there is no backend for the variant {str(variant)!r}",
            where="--variant",
            hint=did_you_mean(str(variant), [str(it) for it in noarch_variants(tree)])
            or f"name one of {_listing(tree)}",
        )
    raise PlanError(
        f"the kernel is not for {variant.name}",
        where=tree.where("general", "backends"),
        hint=f"build one of {_listing(tree)}, or add {variant.name} to the list",
    )


def _listing(tree: KernelTree) -> str:
    return ", ".join(map(str, noarch_variants(tree)))


def _archs(manifest: Manifest, backend: Backend) -> tuple[str, ...] | None:
    framework = manifest.framework
    if not isinstance(framework, TorchNoarch):
        return None
    named = {Backend.CUDA: framework.cuda_capabilities, Backend.ROCM: framework.rocm_archs}
    return named.get(backend) or None
