"""Give the layers of a model the kernels that are registered for them.

First everything is decided and loaded, then applied: an error leaves the model as it was.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from kernelmill.runtime.layers.accelerator import find_device, find_index, probe_accelerator
from kernelmill.runtime.layers.choice import Choice, Miss, choose
from kernelmill.runtime.layers.errors import NoKernel
from kernelmill.runtime.layers.extension import is_wanted
from kernelmill.runtime.layers.fallback import KernelizeFallback, Policy, parse_fallback
from kernelmill.runtime.layers.interface import ensure_keeps_promise, ensure_replaces, lacks
from kernelmill.runtime.layers.mapping import current_table
from kernelmill.runtime.layers.mode import Mode, parse_mode
from kernelmill.runtime.layers.report import Decision, Origin, Report, origin_of
from kernelmill.runtime.layers.settings import read_switches
from kernelmill.runtime.layers.sites import Site, apply, find_sites
from kernelmill.runtime.tracing import untraceable
from kernelmill.spec.errors import HostError, HubError

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import nn

    from kernelmill.runtime.layers.device import Accelerator, Device
    from kernelmill.runtime.layers.mapping import Repository, Table

log = logging.getLogger(__name__)

M = TypeVar("M", bound="nn.Module")


@untraceable
def kernelize(
    model: M,
    *,
    mode: Mode | None = None,
    device: str | torch.device | None = None,
    use_fallback: bool | KernelizeFallback = True,
    policy: str | None = None,
    enabled: bool | None = None,
) -> M:
    """Replace the ``forward`` of each replaceable layer by its kernel's, and return the model.

    All kernels are loaded here, before ``torch.compile`` traces anything. Kernelize again when the
    mode or the device changes. ``explain(model)`` says what runs where.

    Args:
        model: changed in place.
        mode: what it will be used for; has to be given.
        device: type of device, such as ``"cuda"``; by default that of the first parameter.
        use_fallback: the cases in which a layer may keep its own ``forward``; in the others this
            raises. True is ``KernelizeFallback.DEFAULT``, False is ``NONE``.
        policy: ``error``, ``warn`` or ``silent``: what happens to layers that no kernel serves.
            ``warn`` and ``silent`` also count what cannot be loaded on this machine among the
            cases that True allows. By default the environment's ``KERNELS_POLICY``, and without
            it ``use_fallback`` alone says what raises, and the rest is warned of.
        enabled: False loads nothing and leaves every layer its own ``forward``. By default
            ``without_kernels()`` and the environment's ``DISABLE_KERNEL_MAPPING`` decide.

    Raises:
        NotAMode: no mode; a ``TypeError``.
        BadMode: a mode that cannot be kernelized for; a ``ValueError``.
        BadDevice: no such type of device, or none to be found; a ``ValueError``.
        BadMapping: what is registered for a layer cannot be used; a ``TypeError``.
        NoKernel: no kernel serves a layer, and it may not keep its own; a ``ValueError``.
        NotALayer: a kernel's class cannot replace the layer's; a ``TypeError``.
        KernelError: whatever ``get_kernel`` raises.
    """
    switches = read_switches(policy=policy, enabled=enabled)
    request = Request(
        mode=parse_mode(mode),
        device=find_device(model, device),
        index=getattr(device, "index", None),
        fallback=_cases(use_fallback, switches.policy),
        policy=switches.policy,
        off_because=switches.off_because,
        table=current_table(),
    )
    sites = list(find_sites(model))
    report = Report(layers=tuple(request.decide(site) for site in sites))
    if switches.policy is Policy.ERROR and (complaints := list(report.complaints())):
        raise NoKernel(f"{report.summary}: {' '.join(complaints)}", hint=_hint(switches.policy))
    for site, decision in zip(sites, report.layers, strict=True):
        apply(decision, site.module)
    _tell(report, switches.policy, request.off_because)
    return model


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A kernel's class, ready to be bound."""

    kernel: type[nn.Module]
    function: Callable[..., Any]
    origin: Origin


@dataclass(slots=True, kw_only=True)
class Request:
    """One call of ``kernelize``, and what it has found out so far."""

    mode: Mode
    device: Device
    index: int | None
    fallback: KernelizeFallback
    policy: Policy | None
    off_because: str
    table: Table
    accelerators: dict[int | None, Accelerator | None] = field(default_factory=dict)
    loaded: list[tuple[Repository, Loaded | Exception]] = field(default_factory=list)
    notes: dict[tuple[type, type], str] = field(default_factory=dict)
    """Kernel's class, layer's class -> what is worth a warning."""

    def decide(self, site: Site) -> Decision:
        """Return what is to run in a layer. Loads its kernel; changes nothing."""
        if self.off_because:
            return self._keep(site, self.off_because, is_wished=True)
        if not is_wanted(site.module):
            name = type(site.module).__name__
            skipped = f"Skipping kernelization for `{name}` using `{site.layer_name}`"
            return self._keep(site, f"{skipped} due to kernel_condition.", is_wished=True)
        choice = choose(
            self.table,
            site.layer_name,
            mode=self.mode,
            device=self.device,
            probe=lambda: self._accelerator(site),
        )
        if isinstance(choice, Miss):
            return self._miss(site, choice)
        try:
            loaded = self._load(choice.repository)
        except self._unavailable() as error:
            first_line = str(getattr(error, "problem", error)).partition("\n")[0]
            reason = f"Kernel {choice.repository} cannot be loaded: {first_line}"
            return self._keep(site, reason)
        return self._use(site, choice, loaded)

    def _use(self, site: Site, choice: Choice, loaded: Loaded) -> Decision:
        repository, kernel = choice.repository, loaded.kernel
        pair = kernel, type(site.module)
        if pair not in self.notes:
            self.notes[pair] = ensure_replaces(*pair, repository)
        ensure_keeps_promise(kernel, choice.mode, layer_name=site.layer_name, repository=repository)
        if lacking := lacks(kernel, self.mode):
            miss = Miss(
                case=KernelizeFallback.NO_COMPATIBLE_MODE,
                problem=f"Available kernel does not support mode: {self.mode}",
                reason=f"Kernel {repository} for layer `{site.layer_name}` lacks {lacking}.",
            )
            return self._miss(site, miss)
        return Decision(
            path=site.path,
            layer_name=site.layer_name,
            class_name=type(site.module).__name__,
            origin=loaded.origin,
            mode=str(self.mode),
            registered_for=str(choice.mode),
            device=self._device_text(site),
            note=self.notes[pair],
            function=loaded.function,
        )

    def _miss(self, site: Site, miss: Miss) -> Decision:
        if miss.case not in self.fallback:
            raise NoKernel(
                miss.problem,
                where=site.path,
                hint=f"{miss.reason} Or allow KernelizeFallback.{miss.case.name}",
            )
        return self._keep(site, miss.reason)

    def _keep(self, site: Site, reason: str, *, is_wished: bool = False) -> Decision:
        return Decision(
            path=site.path,
            layer_name=site.layer_name,
            class_name=type(site.module).__name__,
            mode=str(self.mode),
            device=self._device_text(site),
            reason=reason,
            is_wished=is_wished,
        )

    def _load(self, repository: Repository) -> Loaded:
        """Load each repository once per call: the process remembers modules, by endpoint."""
        for known, outcome in self.loaded:
            if known is repository or known == repository:
                if isinstance(outcome, Exception):
                    raise outcome
                return outcome
        try:
            kernel = repository.load()
        except self._unavailable() as error:
            self.loaded.append((repository, error))
            raise
        log.info("Using function/layer from repo %s", repository)
        loaded = Loaded(
            kernel=kernel,
            function=_picklable(getattr(kernel, "forward", None)),
            origin=origin_of(repository, kernel),
        )
        self.loaded.append((repository, loaded))
        return loaded

    def _unavailable(self) -> tuple[type[Exception], ...]:
        """Return the errors that mean "not on this machine" and that a layer survives.

        Never those about trust, digests or a mapping that is wrong.
        """
        if KernelizeFallback.CANNOT_LOAD not in self.fallback:
            return ()
        return (
            (FileNotFoundError,)
            if self.policy is None
            else (FileNotFoundError, HostError, HubError)
        )

    def _accelerator(self, site: Site) -> Accelerator | None:
        index = find_index(site.owner)
        index = self.index if index is None else index
        if index not in self.accelerators:
            self.accelerators[index] = probe_accelerator(index)
        return self.accelerators[index]

    def _device_text(self, site: Site) -> str:
        index = find_index(site.owner) if self.device.type in {"cuda", "rocm"} else None
        return self.device.type if index is None else f"{self.device.type}:{index}"


def _cases(use_fallback: bool | KernelizeFallback, policy: Policy | None) -> KernelizeFallback:
    """Return when a layer may keep its own ``forward``; under ``error`` that is judged later."""
    if policy is Policy.ERROR or (policy is not None and use_fallback is True):
        return KernelizeFallback.ALL
    return parse_fallback(use_fallback)


def _picklable(function: Any) -> Callable[..., Any]:  # noqa: ANN401 - what a kernel's class holds
    """Return a ``forward`` that is called so: a bound method is pickled by its name."""
    if getattr(function, "__name__", "") == "forward":
        return function  # type: ignore[no-any-return]

    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the kernel's own
        return function(self, *args, **kwargs)

    return forward


def _tell(report: Report, policy: Policy | None, off_because: str) -> None:
    """Say in one message what became of the model."""
    if off_because:
        log.info("kernelize: %s because %s", report.summary, off_because)
        return
    lines = list(report.complaints())
    if not report.total:
        lines.append("No class in the model is marked with use_kernel_forward_from_hub.")
    if not lines:
        log.info("kernelize: %s", report.summary)
        return
    level = logging.INFO if policy is Policy.SILENT else logging.WARNING
    log.log(level, "kernelize: %s\n%s", report.summary, "\n".join(f"  {it}" for it in lines))


def _hint(policy: Policy) -> str:
    return (
        f'policy="{policy}" wants a kernel for every layer: register kernels for these, or let '
        'them keep their own forward with policy="warn" (or KERNELS_POLICY=warn)'
    )
