"""Which kernels are registered for which layers, in this process and in this context.

Registering checks nothing and touches no network, so that a library may do it while it is
imported. A bad entry is an error once a layer asks for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from kernelmill.runtime.layers.device import DEVICE_TYPES, Device, Properties, bounds
from kernelmill.runtime.layers.mode import Mode

if TYPE_CHECKING:
    from types import TracebackType

    from torch import nn


class Repository(Protocol):
    """Where a layer's kernel comes from."""

    def load(self) -> type[nn.Module]:
        """Return the class whose ``forward`` is used."""
        ...


Kernels = Repository | Mapping[Mode, Repository]
KernelMapping = Mapping[
    str, Mapping[str, Kernels] | Mapping[Device, Kernels] | Mapping[Device | str, Kernels]
]
"""What callers write: layer name -> device -> kernels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The kernels for some devices of one type."""

    properties: Properties | None = None
    repositories: Mapping[Mode, Repository]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerEntries:
    """Everything that is registered for one layer name."""

    devices: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    """Device type -> entries."""
    faults: tuple[str, ...] = ()
    """Each entry that cannot be used, by its place in the mapping, and why."""

    def with_entry(self, device_type: str, entry: Entry) -> LayerEntries:
        """Add an entry in place of the one for the same devices."""
        others = tuple(
            other
            for other in self.devices.get(device_type, ())
            if bounds(other.properties) != bounds(entry.properties)
        )
        return replace(self, devices={**self.devices, device_type: (*others, entry)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All that is registered."""

    layers: Mapping[str, LayerEntries] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    """What was registered and is no mapping at all."""


@dataclass(slots=True)
class Scope:
    """What a context uses. The table is replaced whole, never changed."""

    table: Table


_process = Scope(Table())
_scope: ContextVar[Scope] = ContextVar("kernel_mapping", default=_process)
_guard = threading.Lock()


def _start_over() -> None:
    """In a forked child, wait for no thread that only the parent has."""
    global _guard  # noqa: PLW0603 - a lock cannot be reset
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_over)


def current_table() -> Table:
    """Return what is registered here and now."""
    return _scope.get().table


def register_kernel_mapping(mapping: KernelMapping, inherit_mapping: bool = True) -> None:
    """Say which kernels replace which layers.

    Holds for the process, or until the end of the ``use_kernel_mapping`` around it. What is
    registered for the same layer, device type and properties is replaced.

    Args:
        mapping: layer name -> device (``"cuda"`` or a ``Device``) -> repository, or mode ->
            repository. A repository alone is for ``Mode.FALLBACK``: for any mode it supports.
        inherit_mapping: keep what is registered already.
    """
    scope = _scope.get()
    with _guard:
        scope.table = extended(scope.table if inherit_mapping else Table(), mapping)


class use_kernel_mapping:  # noqa: N801 - called like a function, as in Hugging Face's package
    """Use a mapping until the end of the ``with`` block, in this context (thread, task) alone."""

    def __init__(self, mapping: KernelMapping, *, inherit_mapping: bool = True) -> None:
        """Take a mapping as ``register_kernel_mapping`` does.

        Args:
            mapping: as there.
            inherit_mapping: also use what is registered around the block.
        """
        self._mapping = mapping
        self._inherits = inherit_mapping
        self._tokens: list[Token[Scope]] = []

    def __enter__(self) -> None:
        base = current_table() if self._inherits else Table()
        self._tokens.append(_scope.set(Scope(extended(base, self._mapping))))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _scope.reset(self._tokens.pop())


def extended(table: Table, mapping: object) -> Table:
    """Return ``table`` with ``mapping`` added. Pure; faults are kept, not raised."""
    if not isinstance(mapping, Mapping):
        fault = f"{_shown(mapping)} is registered, not a dictionary"
        return replace(table, faults=(*table.faults, fault))
    layers = dict(table.layers)
    for name, devices in mapping.items():
        layers[name] = _with_devices(layers.get(name, LayerEntries()), name, devices)
    return replace(table, layers=layers)


def _with_devices(entries: LayerEntries, layer_name: str, devices: object) -> LayerEntries:
    place = f"[{layer_name!r}]"
    if not isinstance(devices, Mapping):
        return _with_fault(entries, f"{place} is {_shown(devices)}, not a dictionary of devices")
    for key, value in devices.items():
        here = f"{place}[{key if isinstance(key, Device) else repr(key)}]"
        device = Device(key) if isinstance(key, str) else key
        repositories = value if isinstance(value, Mapping) else {Mode.FALLBACK: value}
        if fault := _device_fault(device) or _repositories_fault(repositories):
            entries = _with_fault(entries, f"{here}: {fault}")
            continue
        entry = Entry(properties=device.properties, repositories=dict(repositories))
        entries = entries.with_entry(device.type, entry)
    return entries


def _device_fault(device: object) -> str:
    if not isinstance(device, Device):
        return f"{_shown(device)} is not a device"
    if device.type not in DEVICE_TYPES:
        return f"Unknown device type: {device.type}"
    return ""


def _repositories_fault(repositories: Mapping[object, object]) -> str:
    for mode, repository in repositories.items():
        if not isinstance(mode, Mode):
            return f"{_shown(mode)} is not a mode"
        # NOTE: data must never name a kernel, so a string is refused, whatever it says.
        if not callable(getattr(repository, "load", None)):
            return f"{_shown(repository)} is not a repository object"
    return ""


def _with_fault(entries: LayerEntries, fault: str) -> LayerEntries:
    return replace(entries, faults=(*entries.faults, fault))


def _shown(thing: object) -> str:
    return f"{type(thing).__name__} {thing!r:.80}"
