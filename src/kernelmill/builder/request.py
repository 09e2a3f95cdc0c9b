"""What a user asked to be built, read from words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.builder.backends import BACKENDS, rules_for
from kernelmill.builder.errors import PlanError
from kernelmill.spec.backend import Backend
from kernelmill.spec.variant import ArchVariant, parse_variant
from kernelmill.spec.version import parse_major_minor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.spec.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to build: the backends, the ROCm version if one was named, the variant if one was."""

    backends: tuple[Backend, ...]
    rocm: tuple[int, int] | None
    variant: ArchVariant | None
    skipped: tuple[Backend, ...] = ()
    """Backends of the manifest that this version does not build for."""

    def version_for(self, backend: Backend) -> tuple[int, int] | None:
        """Return the runtime version that was asked for."""
        return self.rocm if backend is Backend.ROCM else None


def parse_request(
    manifest: Manifest, *, backends: Sequence[str] | None, variant: str | None, rocm: str | None
) -> Request:
    """Read the arguments of ``build``.

    Raises:
        InputError: a name or a version is wrong, or this version cannot build for a backend.
    """
    if variant is not None:
        return _parse_variant(variant, is_alone=not (backends or rocm))
    asked = parse_backends(backends or (), where="--backend")
    return Request(
        backends=asked or _buildable(manifest),
        rocm=parse_major_minor(rocm, where="--rocm") if rocm else None,
        variant=None,
        skipped=()
        if asked
        else tuple(it for it in manifest.general.backends if it not in BACKENDS),
    )


def parse_backends(words: Sequence[str], *, where: str) -> tuple[Backend, ...]:
    """Read backends that are given one by one, or several in a word: ``cpu,rocm``.

    Raises:
        InputError: a name is wrong, or this version cannot build for a backend.
    """
    names = [name.strip() for word in words for name in word.split(",")]
    backends = tuple(dict.fromkeys(Backend.parse(name, where=where) for name in names))
    for backend in backends:
        rules_for(backend)
    return backends


def _parse_variant(text: str, *, is_alone: bool) -> Request:
    if not is_alone:
        raise PlanError(
            "--variant names the backend and its version already",
            hint="leave out --backend and --rocm",
        )
    variant = parse_variant(text)
    if not isinstance(variant, ArchVariant):
        raise PlanError(
            f"{text!r} is not compiled",
            where="--variant",
            hint="name a variant that `kernel-builder list-variants` prints",
        )
    rules_for(variant.compute.backend)
    return Request(
        backends=(variant.compute.backend,), rocm=variant.compute.version, variant=variant
    )


def _buildable(manifest: Manifest) -> tuple[Backend, ...]:
    backends = tuple(it for it in manifest.general.backends if it in BACKENDS)
    if not backends:
        # Says which backends this version knows.
        rules_for(manifest.general.backends[0])
    return backends
