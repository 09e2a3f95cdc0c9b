"""What a user asked to be built, read from words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.backends import BACKENDS, rules_for
from kernelmill.builder.errors import PlanError
from kernelmill.spec.backend import Backend
from kernelmill.spec.values import dataclass
from kernelmill.spec.variant import ArchVariant, parse_variant
from kernelmill.spec.version import parse_major_minor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.spec.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One variant to build: by its name, or what the installed torch gives for a backend."""

    backend: Backend
    version: tuple[int, int] | None = None
    """Of the backend's runtime; None for the usual one."""
    variant: ArchVariant | None = None

    @classmethod
    def of(cls, variant: ArchVariant) -> Goal:
        """Return the goal of building ``variant``."""
        compute = variant.compute
        return cls(backend=compute.backend, version=compute.version, variant=variant)

    def __str__(self) -> str:
        return str(self.variant or self.backend)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to build."""

    goals: tuple[Goal, ...]
    skipped: tuple[Backend, ...] = ()
    """Backends of the manifest that this version does not build for."""


def parse_request(
    manifest: Manifest,
    *,
    backends: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    rocm: str | None = None,
) -> Request:
    """Read the arguments of ``build``.

    Raises:
        InputError: a name or a version is wrong, or this version cannot build for a backend.
    """
    if variants:
        return _parse_variants(variants, is_alone=not (backends or rocm))
    asked = parse_backends(backends or (), where="--backend")
    version = parse_major_minor(rocm, where="--rocm") if rocm else None
    return Request(
        goals=tuple(
            Goal(backend=it, version=version if it is Backend.ROCM else None)
            for it in asked or buildable(manifest)
        ),
        skipped=()
        if asked
        else tuple(it for it in manifest.general.backends if it not in BACKENDS),
    )


def parse_backends(words: Sequence[str], *, where: str) -> tuple[Backend, ...]:
    """Read backends that are given one by one, or several in a word: ``cpu,rocm``.

    Raises:
        InputError: a name is wrong, or this version cannot build for a backend.
    """
    backends = tuple(dict.fromkeys(Backend.parse(it, where=where) for it in _split(words)))
    for backend in backends:
        rules_for(backend)
    return backends


def parse_torches(words: Sequence[str]) -> tuple[tuple[int, int], ...] | None:
    """Read versions of PyTorch, given as backends are: ``2.12,2.13``; None when there are none.

    Raises:
        InputError: one is no version.
    """
    return tuple(parse_major_minor(it, where="--torch") for it in _split(words)) or None


def _split(words: Sequence[str]) -> list[str]:
    return [name.strip() for word in words for name in word.split(",")]


def _parse_variants(texts: Sequence[str], *, is_alone: bool) -> Request:
    if not is_alone:
        raise PlanError(
            "--variant names the backend and its version already",
            hint="leave out --backend and --rocm",
        )
    goals = []
    for text in dict.fromkeys(_split(texts)):
        variant = parse_variant(text)
        if not isinstance(variant, ArchVariant):
            raise PlanError(
                f"{text!r} is not compiled",
                where="--variant",
                hint="name a variant that `kernel-builder list-variants` prints",
            )
        rules_for(variant.compute.backend)
        goals.append(Goal.of(variant))
    return Request(goals=tuple(goals))


def buildable(manifest: Manifest) -> tuple[Backend, ...]:
    """Return the backends of a kernel that this version builds for.

    Raises:
        PlanError: there are none.
    """
    backends = tuple(it for it in manifest.general.backends if it in BACKENDS)
    if not backends:
        # Says which backends this version knows.
        rules_for(manifest.general.backends[0])
    return backends
