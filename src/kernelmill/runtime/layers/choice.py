"""Which registered kernel serves a layer. Pure: everything it needs to know is a parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.runtime.layers.device import matches, specificity
from kernelmill.runtime.layers.errors import BadMapping
from kernelmill.runtime.layers.fallback import KernelizeFallback
from kernelmill.runtime.layers.mode import SERVED_BY, Mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.runtime.layers.device import Accelerator, Device
    from kernelmill.runtime.layers.mapping import Repository, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A registered kernel."""

    repository: Repository
    mode: Mode
    """The mode that it is registered for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """Why there is none."""

    case: KernelizeFallback
    problem: str
    """As an error says it."""
    reason: str
    """As a warning says it: the same, with what to do."""


def choose(
    table: Table,
    layer_name: str,
    *,
    mode: Mode,
    device: Device,
    probe: Callable[[], Accelerator | None],
) -> Choice | Miss:
    """Return the kernel for one layer, or why none is registered for it.

    Args:
        table: what is registered.
        layer_name: the name that the layer's class was given.
        mode: what it is to be used for.
        device: the type of device it is on.
        probe: gives the GPU it is on; asked only where entries differ by it.

    Raises:
        BadMapping: something that is registered for the layer cannot be used.
    """
    entries = table.layers.get(layer_name)
    if faults := (*table.faults, *(entries.faults if entries else ())):
        raise BadMapping(
            "; ".join(faults),
            where="kernel mapping",
            hint="map layer name -> device -> LayerRepository(...) or {Mode: LayerRepository(...)}",
        )
    if entries is None:
        return Miss(
            case=KernelizeFallback.NO_LAYER,
            problem=f"No layer mapping for `{layer_name}`",
            reason=(
                f"No kernel mapping found for layer `{layer_name}`. Check if the layer name "
                "matches one of the kernels in the mapping or add the kernel you want to use to "
                "the mapping. Defaulting to original forward implementation."
            ),
        )
    candidates = entries.devices.get(device.type)
    if not candidates:
        problem = f"No layer mapping for `{layer_name}` with device type `{device}`"
        known = ", ".join(sorted(entries.devices))
        reason = f"No kernel for layer `{layer_name}` on {device.type}; there is one for {known}."
        return Miss(case=KernelizeFallback.NO_DEVICE, problem=problem, reason=reason)
    has_ranges = any(entry.properties for entry in candidates)
    accelerator = probe() if has_ranges else None
    fitting = [entry for entry in candidates if matches(entry.properties, accelerator)]
    if not fitting:
        problem = f"No layer mapping for `{layer_name}` device `{device}` with the right properties"
        found = f"device {accelerator}" if accelerator else f"a machine without a {device.type} GPU"
        reason = f"No kernel for layer `{layer_name}` on {device.type} fits {found}."
        return Miss(case=KernelizeFallback.NO_COMPATIBLE_PROPERTIES, problem=problem, reason=reason)
    repositories = min(fitting, key=lambda entry: specificity(entry.properties)).repositories
    for served_by in SERVED_BY[mode]:
        if served_by in repositories:
            return Choice(repository=repositories[served_by], mode=served_by)
    known = ", ".join(map(str, repositories))
    return Miss(
        case=KernelizeFallback.NO_COMPATIBLE_MODE,
        problem=f"No repository for `{layer_name}` for configuration mode={mode}",
        reason=f"No kernel for layer `{layer_name}` serves {mode}; registered are {known}.",
    )
