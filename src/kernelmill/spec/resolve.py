"""Which build fits a host, and why each other one does not.

Every rule is a function from a part of a variant and a host to an objection. The order of
preference is total, so the answer depends neither on the order of the names nor on sets.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InvalidVariant, NoVariant
from kernelmill.spec.values import dataclass
from kernelmill.spec.variant import (
    ArchVariant,
    Compute,
    Framework,
    NoarchVariant,
    Variant,
    parse_variant,
)
from kernelmill.spec.version import parse_release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelmill.spec.host import Host

METAL_MIN_MACOS: Final = (26, 0)
"""The first macOS whose Metal language version the builds use."""

NO_TORCH: Final = "unknown (torch not installed)"
"""Why a build against PyTorch cannot be taken where there is none to compare it with."""
FREE_THREADED_MIN_PYTHON: Final = (3, 15)
"""The first CPython whose limited API covers free-threaded builds."""


_MAX_SKIPPED: Final = 20
"""Most names that an error lists."""


class Decision(NamedTuple):
    """What was decided about one variant. A tuple, since a trace may have thousands."""

    variant: Variant
    objection: str
    """Why it does not fit; empty when it does."""
    note: str = ""
    """A reservation about one that fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The choice and its reasons."""

    chosen: Variant | None
    trace: tuple[Decision, ...]
    """Best first; those that do not fit last."""
    skipped: tuple[str, ...]
    """Folder names that are no variants."""


def resolve(names: Iterable[str], host: Host) -> Resolution:
    """Choose the best of the variants named ``names`` for ``host``."""
    judge = _Judge(host)
    decisions: list[Decision] = []
    ranks: list[int] = []
    skipped: list[str] = []
    for name in sorted(set(names)):  # so that what has the same rank is sorted by name
        try:
            variant = parse_variant(name)
        except InvalidVariant:
            skipped.append(name)
            continue
        objection, rank = judge.judge(variant)
        note = "" if objection else _note(variant, host)
        decisions.append(Decision(variant, objection, note))
        ranks.append(rank + _UNFIT if objection else rank)
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    trace = tuple([decisions[index] for index in order])
    chosen = trace[0].variant if trace and not trace[0].objection else None
    return Resolution(chosen=chosen, trace=trace, skipped=tuple(skipped))


# A rank is one number, smallest first, whose digits are the parts that decide, the first one first:
# a list of thousands is sorted in no time. No part of a variant's name has more than ten digits.
_PART: Final = 10**10
_KIND: Final = _PART**4 * 2
_UNFIT: Final = _KIND * 10


class _Judge:
    """Judges variants for one host, and each framework and backend in them only once.

    Both are known by their identity: variants share them, and keep them alive meanwhile.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self._frameworks: dict[int, tuple[Framework, str, int]] = {}
        self._computes: dict[int, tuple[Compute, str, int]] = {}
        self._objection_to_arch = _check_free_threading(host)
        self._check_cpu = cache(lambda cpu: _check_cpu(cpu, host))
        self._check_os = cache(lambda system: _check_os(system, host))

    def judge(self, variant: Variant) -> tuple[str, int]:
        """Return the first objection to a variant, or nothing, and its rank among its equals."""
        if isinstance(variant, NoarchVariant):
            kind = 4 if variant.name == "universal" else 3
            return _check_noarch(variant, self.host), kind * _KIND
        framework, compute = variant.framework, variant.compute
        known = self._frameworks.get(id(framework)) or self._meet_framework(framework)
        also_known = self._computes.get(id(compute)) or self._meet_compute(compute)
        objection = (
            self._objection_to_arch
            or self._check_cpu(variant.cpu)
            or self._check_os(variant.os)
            or known[1]
            or also_known[1]
        )
        return objection, known[2] + also_known[2]

    def _meet_framework(self, framework: Framework) -> tuple[Framework, str, int]:
        judged = framework, _check_framework(framework, self.host), _framework_rank(framework)
        return self._frameworks.setdefault(id(framework), judged)

    def _meet_compute(self, compute: Compute) -> tuple[Compute, str, int]:
        judged = compute, _check_compute(compute, self.host), _compute_rank(compute)
        return self._computes.setdefault(id(compute), judged)


def _framework_rank(framework: Framework) -> int:
    """Rank stable ABI (newest first), PyTorch, TVM FFI; last of all, the untagged one first."""
    kind = {"torch-stable-abi": 0, "torch": 1, "tvm-ffi": 2}[framework.kind]
    is_tagged = framework.cxx11_abi is not None
    return kind * _KIND + _age(framework.version) * _PART**2 * 2 + is_tagged


def _compute_rank(compute: Compute) -> int:
    """Rank the newest backend first."""
    return _age(compute.version or (0, 0)) * 2


def _age(version: tuple[int, int]) -> int:
    """Return a number below the square of ``_PART`` that is the smaller, the newer a version is."""
    major, minor = version
    return (_PART - 1 - major) * _PART + _PART - 1 - minor


def _first_objection(variant: Variant, host: Host) -> str:
    return _Judge(host).judge(variant)[0]


def _note(variant: Variant, host: Host) -> str:
    """Warn about a build for a series of PyTorch that is not released yet."""
    if not (isinstance(variant, ArchVariant) and host.torch and host.torch.is_prerelease):
        return ""
    depends = variant.framework.kind in {"torch", "torch-stable-abi"}
    # An older stable ABI is settled, whatever the nightly does.
    same_series = variant.framework.version == host.torch.series
    return "nightly: ABI may differ" if depends and same_series else ""


def _check_free_threading(host: Host) -> str:
    if not host.is_free_threaded or host.python >= FREE_THREADED_MIN_PYTHON:
        return ""
    return f"compiled builds need free-threaded Python {_dotted(FREE_THREADED_MIN_PYTHON)} or newer"


def _check_cpu(cpu: str, host: Host) -> str:
    return "" if cpu == host.cpu else f"CPU ({cpu}) does not match system CPU ({host.cpu})"


def _check_os(system: str, host: Host) -> str:
    return "" if system == host.os else f"OS ({system}) does not match system OS ({host.os})"


def _check_framework(wants: Framework, host: Host) -> str:
    torch = host.torch
    if torch is None and wants.kind != "tvm-ffi":
        return NO_TORCH
    match wants.kind:
        case "torch-stable-abi":
            if torch is None or wants.version > torch.series:
                abi = f"Torch stable ABI version ({_dotted(wants.version)})"
                return f"{abi} is too new for environment Torch version ({torch})"
        case "torch":
            if torch is None or wants.version != torch.series:
                return _mismatch("Torch version", _dotted(wants.version), str(torch))
            if wants.cxx11_abi is not None and wants.cxx11_abi != host.cxx11_abi:
                return _mismatch("Torch CXX11 ABI", str(wants.cxx11_abi), str(host.cxx11_abi))
        case "tvm-ffi":
            if wants.version != host.tvm_ffi:
                return _mismatch("tvm-ffi version", _dotted(wants.version), _dotted(host.tvm_ffi))
    return ""


def _check_compute(wants: Compute, host: Host) -> str:
    has = Compute(backend=host.backend, version=host.backend_version)
    if wants.backend == has.backend == Backend.CUDA and wants.version and has.version:
        if wants.version[0] == has.version[0] and wants.version <= has.version:
            return ""
        versions = f"({_dotted(wants.version)}) is not compatible with system CUDA version"
        return f"CUDA version {versions} ({_dotted(has.version)})"
    if wants != has:
        return f"backend ({wants}) does not match selected backend ({has})"
    if wants.backend == Backend.METAL and (host.macos is None or host.macos < METAL_MIN_MACOS):
        return (
            f"Metal kernels require macOS {_dotted(METAL_MIN_MACOS)} or later, "
            f"system macOS version is {_dotted(host.macos)}"
        )
    return ""


def _check_noarch(variant: NoarchVariant, host: Host) -> str:
    if variant.name == "universal":
        return ""
    if variant.name == ("npu" if host.backend == Backend.CANN else host.backend.value):
        return ""
    system = f"system backend ({host.backend})"
    return f"backend ({variant.name}) does not match {system} and is not universal"


def _mismatch(what: str, wants: str, has: str) -> str:
    return f"{what} ({wants}) does not match environment {what} ({has})"


def _dotted(version: tuple[int, int] | None) -> str:
    return f"{version[0]}.{version[1]}" if version else "None"


def trace_text(resolution: Resolution) -> str:
    """Return one line per variant, best first, with the reason for each that does not fit."""
    return "\n".join(_trace_line(it, resolution) for it in resolution.trace)


def _trace_line(decision: Decision, resolution: Resolution) -> str:
    if decision.objection:
        return f"{decision.variant}: {decision.objection}"
    preferred = ", preferred" if decision.variant == resolution.chosen else ""
    note = f" ({decision.note})" if decision.note else ""
    return f"{decision.variant} compatible{preferred} ✅{note}"


def no_variant(resolution: Resolution, *, repo: str, revision: str, host: Host) -> NoVariant:
    """Return the error for a resolution without a choice: the trace, the counts, one way out.

    Args:
        resolution: what ``resolve`` gave.
        repo: the repository's id, or the local path.
        revision: its revision; empty for a local path.
        host: the host that was resolved for.
    """
    at = f" (revision: {revision})" if revision else ""
    parts = [f"Cannot find a build variant for this system in {repo}{at}:"]
    if resolution.trace:
        parts.append(trace_text(resolution))
    parts.append(_count(resolution, host))
    return NoVariant("\n\n".join(parts), hint=_way_out(resolution, host))


def _count(resolution: Resolution, host: Host) -> str:
    found, skipped = len(resolution.trace), resolution.skipped
    system = Compute(backend=host.backend, version=host.backend_version)
    text = f"no variant for {system} among {found} found" if found else "no build variants found"
    if skipped:
        names = [name if name.isprintable() else ascii(name) for name in skipped[:_MAX_SKIPPED]]
        names += ["..."] * (len(skipped) > _MAX_SKIPPED)
        text += f"; skipped {len(skipped)} not named like a variant: {', '.join(names)}"
    return text


def _way_out(resolution: Resolution, host: Host) -> str:
    if not resolution.trace:
        return "check the repository and revision: builds are in build/<variant>"
    names = [str(it.variant) for it in resolution.trace]
    if on_cpu := resolve(names, host.with_backend(Backend.CPU)).chosen:
        return f"found {on_cpu}; pass backend='cpu' to use it"
    has = Compute(backend=host.backend, version=host.backend_version)
    for it in resolution.trace:
        if isinstance(it.variant, ArchVariant) and _fits_other_torch(it.variant, host):
            wants = f"PyTorch {_dotted(it.variant.framework.version)} for {it.variant.compute}"
            found = f"PyTorch {host.torch} for {has}" if host.torch else "no PyTorch"
            return f"{it.variant} needs {wants}; this environment has {found}"
    return "ask its author for a build for this system, or build it with kernel-builder"


def _fits_other_torch(variant: ArchVariant, host: Host) -> bool:
    """Tell whether all that is missing is another PyTorch, for the same kind of device."""
    if variant.framework.kind == "tvm-ffi" or variant.compute.backend != host.backend:
        return False
    text = _dotted(variant.framework.version)
    other = replace(
        host,
        torch=parse_release(text, what="PyTorch"),
        backend_version=variant.compute.version,
        cxx11_abi=variant.framework.cxx11_abi,
    )
    return not _first_objection(variant, other)
