"""Which built variants are tested, and on what. Decides only; looks at nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from kernelmill.builder.backends import BACKENDS
from kernelmill.builder.errors import PlanError, SourceError, ToolchainError
from kernelmill.builder.request import parse_backends
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InvalidVariant
from kernelmill.spec.reader import did_you_mean
from kernelmill.spec.resolve import resolve, trace_text
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelmill.spec.errors import KernelError
    from kernelmill.spec.host import Host
    from kernelmill.spec.variant import Variant


class Runner(StrEnum):
    """What executes a variant's kernels."""

    CPU = "cpu"
    GPU = "gpu"
    EMULATOR = "emulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a user asked to be tested."""

    folder: str
    """The kernel's, as the user would type it."""
    backends: tuple[Backend, ...] = ()
    """Empty for every one that is built and can run."""
    emulate: bool = False
    sanitize: bool = False
    profile: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where tests would run."""

    host: Host
    """With the CPU as its backend."""
    gpus: tuple[str, ...] = ()
    """Architectures of the AMD GPUs here."""
    rocm: tuple[int, int] | None = None
    """That of the installed PyTorch; None for a PyTorch without ROCm."""
    has_nvidia_gpu: bool = False
    cuda: tuple[int, int] | None = None
    """That of the installed PyTorch; None for a PyTorch without CUDA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One variant to test."""

    variant: Variant
    runner: Runner
    rocm: tuple[int, int] | None = None
    """The ROCm that the variant is for."""
    sanitize: bool = False
    profile: bool = False

    @property
    def title(self) -> str:
        """What is tested, and on what."""
        return f"{self.variant} ({self.runner}{', sanitized' if self.sanitize else ''})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to test; and why something else is not."""

    trials: tuple[Trial, ...]
    omitted: tuple[str, ...] = ()


def parse_question(
    folder: str,
    *,
    backends: Sequence[str] | None,
    emulate: bool,
    sanitize: bool,
    profile: bool = False,
) -> Question:
    """Read the arguments of ``test``.

    Raises:
        InputError: a backend is unknown or cannot be tested, or options contradict each other.
    """
    asked = parse_backends(backends or (), where="--backend")
    if sanitize and not emulate:
        raise PlanError("only emulated kernels can be sanitized", hint="add --emulate")
    if profile and not emulate:
        raise PlanError("only emulated kernels can be profiled", hint="add --emulate")
    if emulate and asked and Backend.ROCM not in asked:
        raise PlanError(
            "only ROCm kernels can be emulated", hint="add --backend rocm, or leave out --emulate"
        )
    return Question(
        folder=folder, backends=asked, emulate=emulate, sanitize=sanitize, profile=profile
    )


def only_named(names: Sequence[str], asked: Sequence[str], *, folder: str) -> list[str]:
    """Return those of the built variants that were asked for by name; all when none was.

    Raises:
        SourceError: one is not built.
    """
    for name in asked:
        if name not in names:
            meant = did_you_mean(name, names)
            raise SourceError(
                f"{name} is not built here",
                where="--variant",
                hint=meant or f"run `kernel-builder build {folder} --variant {name}`",
            )
    return list(asked or names)


def plan_trials(names: Sequence[str], question: Question, site: Site) -> Plan:
    """Choose what to test of the variants called ``names``.

    Of several that fit, the one that would be loaded is tested; of ROCm variants one for each
    ROCm when they are emulated.

    Raises:
        SourceError: nothing is built, or not for a backend that was asked for.
        ToolchainError: there is no GPU for what was asked for, or for anything that is built.
        KernelError: what is built does not fit the installed PyTorch.
    """
    built = _backends_of(names)
    wanted = question.backends or tuple(built)
    if not wanted:
        raise SourceError(
            "nothing is built yet", hint=f"run `kernel-builder build {question.folder}`"
        )
    if question.emulate and Backend.ROCM not in built:
        raise _not_built(Backend.ROCM, question)
    trials: list[Trial] = []
    omitted: list[str] = []
    for backend in wanted:
        if backend not in built:
            raise _not_built(backend, question)
        objection = _objection(backend, built[backend], question, site)
        if objection is None:
            trials += _trials_of(backend, built[backend], question, site)
        elif question.backends or len(wanted) == 1:
            raise objection
        else:
            omitted.append(f"leaving out {backend}: {objection.problem}; {objection.hint}")
    if not trials:
        raise ToolchainError(
            "none of what is built can be tested here:\n  " + "\n  ".join(omitted),
            hint=f"run the tests on a machine with such a GPU; built for: {', '.join(built)}",
        )
    return Plan(trials=tuple(trials), omitted=tuple(omitted))


def _backends_of(names: Sequence[str]) -> dict[Backend, list[Variant]]:
    """Return the variants of each backend that this version builds for, CPU first."""
    found: dict[Backend, list[Variant]] = {backend: [] for backend in BACKENDS}
    for name in sorted(names):
        try:
            variant = parse_variant(name)
        except InvalidVariant:
            continue
        for backend in _backends_served(variant):
            if backend in found:
                found[backend].append(variant)
    return {backend: variants for backend, variants in found.items() if variants}


def _backends_served(variant: Variant) -> tuple[Backend, ...]:
    if isinstance(variant, ArchVariant):
        return (variant.compute.backend,)
    return tuple(it for it in Backend if variant.name in {it.value, "universal"})


def _not_built(backend: Backend, question: Question) -> SourceError:
    return SourceError(
        f"no build for {backend} here yet",
        hint=f"run `kernel-builder build {question.folder} --backend {backend}`",
    )


def _objection(
    backend: Backend, variants: Sequence[Variant], question: Question, site: Site
) -> KernelError | None:
    """Say why kernels of ``backend`` cannot be executed here."""
    can_emulate = any(isinstance(it, ArchVariant) for it in variants)
    if backend is Backend.CUDA:
        return _objection_to_cuda(question, site)
    if backend is Backend.CPU or question.emulate:
        return None
    if not site.gpus:
        return ToolchainError(
            "no AMD GPU here",
            hint="add --emulate to run without one"
            if can_emulate
            else "run the kernel's tests on a machine with one",
        )
    if site.rocm is None:
        return ToolchainError(
            "the installed PyTorch is not for ROCm",
            hint="install a PyTorch for ROCm" + (", or add --emulate" if can_emulate else ""),
        )
    return None


def _objection_to_cuda(question: Question, site: Site) -> KernelError | None:
    if question.emulate:
        return ToolchainError("CUDA kernels cannot be emulated", hint="leave out --emulate")
    if not site.has_nvidia_gpu:
        return ToolchainError(
            "no NVIDIA GPU here", hint="run the kernel's tests on a machine with one"
        )
    if site.cuda is None:
        return ToolchainError(
            "the installed PyTorch is not for CUDA", hint="install a PyTorch for CUDA"
        )
    return None


def _trials_of(
    backend: Backend, variants: Sequence[Variant], question: Question, site: Site
) -> Iterator[Trial]:
    names = [str(variant) for variant in variants]
    if backend is Backend.CPU:
        yield Trial(variant=_choose(names, site.host), runner=Runner.CPU)
        return
    if backend is Backend.CUDA:
        host = replace(site.host, backend=Backend.CUDA, backend_version=site.cuda)
        yield Trial(variant=_choose(names, host), runner=Runner.GPU)
        return
    if question.emulate:
        compiled = [it.compute.version for it in variants if isinstance(it, ArchVariant)]
        versions = sorted({version for version in compiled if version})
        if not versions:
            raise SourceError(
                "a Python-only kernel cannot be emulated: there is no device code in it",
                hint="leave out --emulate",
            )
    else:
        versions = [site.rocm] if site.rocm else []
    for version in versions:
        host = replace(site.host, backend=Backend.ROCM, backend_version=version)
        yield Trial(
            variant=_choose(names, host),
            runner=Runner.EMULATOR if question.emulate else Runner.GPU,
            rocm=version,
            sanitize=question.sanitize,
            profile=question.profile,
        )


def _choose(names: Sequence[str], host: Host) -> Variant:
    resolution = resolve(names, host)
    if resolution.chosen is None:
        raise SourceError(
            f"nothing that is built for {host.backend} fits here:\n{trace_text(resolution)}",
            hint="build again with `kernel-builder build`, against the installed PyTorch",
        )
    return resolution.chosen
