"""The versions that builds are made for. ``matrix.toml`` is the one place that lists them."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError
from kernelmill.spec.backend import Backend
from kernelmill.spec.values import dataclass
from kernelmill.spec.variant import ArchVariant, Compute, Framework
from kernelmill.spec.version import parse_major_minor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelmill.spec.manifest import Manifest, Torch

Version = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A series of PyTorch and what is built for it."""

    version: Version
    release: str
    """The release whose headers are compiled against."""
    computes: tuple[Compute, ...]

    @property
    def sdk(self) -> str:
        """The SDK that has the headers."""
        return f"torch-{self.release}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The table, read."""

    default_rocm: Version
    """The ROCm whose ABI a build is linked for when none is asked for."""
    default_cuda: Version
    """The CUDA of builds for which neither the user nor the machine says one."""
    cuda_archs: Mapping[Version, tuple[str, ...]]
    """CUDA version -> the capabilities that are made from it on, when a kernel names none."""
    series: tuple[Series, ...]
    """Oldest first."""
    platforms: Mapping[Backend, tuple[str, ...]]
    """Backend -> where it is built, such as ``x86_64-linux``."""

    def with_torch(self, version: Version) -> Matrix:
        """Return a matrix that has the series ``version`` too: what the newest one has."""
        if any(it.version == version for it in self.series):
            return self
        added = replace(self.series[-1], version=version, release=dotted(version))
        return replace(self, series=tuple(sorted((*self.series, added), key=lambda s: s.version)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One variant of a kernel in the matrix."""

    variant: ArchVariant
    series: Series
    """What it is compiled against."""

    @property
    def platform(self) -> str:
        """Where it runs: ``x86_64-linux``."""
        return f"{self.variant.cpu}-{self.variant.os}"


@cache
def load_matrix() -> Matrix:
    """Return the matrix that this version of kernelmill knows."""
    text = (resources.files("kernelmill.builder") / "data/matrix.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    series = [
        Series(
            version=parse_major_minor(version, where="matrix.toml torch"),
            release=entry.pop("release"),
            computes=tuple(_computes(entry)),
        )
        for version, entry in document["torch"].items()
    ]
    return Matrix(
        default_rocm=parse_major_minor(document["rocm"]["default"], where="matrix.toml rocm"),
        default_cuda=parse_major_minor(document["cuda"]["default"], where="matrix.toml cuda"),
        cuda_archs={
            parse_major_minor(since, where="matrix.toml cuda.archs"): tuple(archs)
            for since, archs in document["cuda"]["archs"].items()
        },
        series=tuple(sorted(series, key=lambda it: it.version)),
        platforms={Backend(name): tuple(it) for name, it in document["platforms"].items()},
    )


def _computes(entry: Mapping[str, Sequence[str]]) -> Iterator[Compute]:
    for name, versions in entry.items():
        backend = Backend(name)
        if not versions:
            yield Compute(backend=backend, version=None)
        for version in versions:
            yield Compute(
                backend=backend, version=parse_major_minor(version, where=f"matrix.toml {name}")
            )


def pick_series(
    matrix: Matrix, torch: Torch, asked: Sequence[Version] | None, *, where: str = "[torch]"
) -> tuple[Series, ...]:
    """Return the series that a kernel is built for: exactly those, or an error.

    Args:
        matrix: what there is.
        torch: what the kernel wants.
        asked: what the user wants; None for all that the kernel wants.
        where: the place of ``torch``.

    Raises:
        PlanError: one that was asked for is not there or not wanted, or none is left.
    """
    fitting = [it for it in matrix.series if _is_wanted(it.version, torch)]
    known = ", ".join(dotted(it.version) for it in matrix.series)
    for version in asked or ():
        if all(it.version != version for it in matrix.series):
            raise PlanError(
                f"no torch {dotted(version)} in the matrix", where="--torch", hint=f"known: {known}"
            )
        if all(it.version != version for it in fitting):
            raise PlanError(
                f"the kernel wants torch {_range(torch)}, not {dotted(version)}",
                where=where,
                hint="leave it out of --torch",
            )
    chosen = tuple(it for it in fitting if asked is None or it.version in asked)
    if not chosen:
        raise PlanError(
            f"the kernel wants torch {_range(torch)}: the matrix has none",
            where=where,
            hint=f"known: {known}",
        )
    return chosen


def _is_wanted(version: Version, torch: Torch) -> bool:
    return (torch.minver or version) <= version <= (torch.maxver or version)


def _range(torch: Torch) -> str:
    words = [f"from {dotted(torch.minver)}"] if torch.minver else []
    words += [f"up to {dotted(torch.maxver)}"] if torch.maxver else []
    return " ".join(words) or "of any version"


def dotted(version: Version) -> str:
    """Write a version: ``2.13``."""
    return f"{version[0]}.{version[1]}"


def rows_of(
    matrix: Matrix,
    manifest: Manifest,
    torch: Torch,
    chosen: Sequence[Series],
    *,
    backends: Sequence[Backend],
) -> tuple[Row, ...]:
    """Return every variant of a kernel, on all platforms, each once.

    Args:
        matrix: what there is.
        manifest: the kernel.
        torch: its table.
        chosen: what ``pick_series`` said.
        backends: those to look at.
    """
    found: dict[ArchVariant, Row] = {}
    for series, compute, platform in _cells(matrix, manifest, chosen, backends):
        _add(found, series, compute, platform, torch)
    return tuple(found.values())


def tvm_ffi_rows(
    matrix: Matrix, manifest: Manifest, version: Version, *, backends: Sequence[Backend]
) -> tuple[Row, ...]:
    """Return every variant of a kernel of TVM FFI ``version``, which is the same for any torch."""
    framework = Framework(kind="tvm-ffi", version=version, cxx11_abi=None)
    found: dict[ArchVariant, Row] = {}
    for series, compute, platform in _cells(matrix, manifest, matrix.series, backends):
        cpu, os = platform.split("-")
        variant = ArchVariant(framework=framework, compute=compute, cpu=cpu, os=os)
        found.setdefault(variant, Row(variant=variant, series=series))
    return tuple(found.values())


def _cells(
    matrix: Matrix, manifest: Manifest, chosen: Sequence[Series], backends: Sequence[Backend]
) -> Iterator[tuple[Series, Compute, str]]:
    for backend in backends:
        for platform in matrix.platforms.get(backend, ()):
            for series in chosen:
                for compute in series.computes:
                    if compute.backend is backend and _is_wanted_runtime(compute, manifest):
                        yield series, compute, platform


def _add(
    found: dict[ArchVariant, Row], series: Series, compute: Compute, platform: str, torch: Torch
) -> None:
    """Add a row. Builds for the stable ABI are the same for all series: the oldest is taken."""
    stable = torch.stable_abi.get(compute.backend)
    if stable and series.version < stable:
        return
    cpu, os = platform.split("-")
    framework = (
        Framework(kind="torch-stable-abi", version=stable, cxx11_abi=None)
        if stable
        else Framework(
            kind="torch", version=series.version, cxx11_abi=True if os == "linux" else None
        )
    )
    variant = ArchVariant(framework=framework, compute=compute, cpu=cpu, os=os)
    found.setdefault(variant, Row(variant=variant, series=series))


def _is_wanted_runtime(compute: Compute, manifest: Manifest) -> bool:
    cuda = manifest.general.cuda
    if compute.backend is not Backend.CUDA or cuda is None or compute.version is None:
        return True
    version = compute.version
    return (cuda.minver or version) <= version <= (cuda.maxver or version)
