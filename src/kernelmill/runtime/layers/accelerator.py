"""Which device a model, a layer or a call is on. The part of kernelizing that asks the machine."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kernelmill.runtime.layers.device import Accelerator, Device, check_device_type
from kernelmill.runtime.layers.errors import BadDevice
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    import torch
    from torch import nn

log = logging.getLogger(__name__)


def find_device(model: nn.Module, device: str | torch.device | None) -> Device:
    """Return the type of device to kernelize for: as asked, or that of the first parameter.

    Raises:
        BadDevice: no such type, or nothing to tell it from.
    """
    if isinstance(device, str):
        return Device(check_device_type(device))
    if device is None:
        parameter = next(iter(model.parameters()), None)
        if parameter is None:
            raise BadDevice(
                "Cannot determine model device, provide as `device` argument to `kernelize`."
            )
        device = parameter.device
    return Device("rocm" if device.type == "cuda" and is_rocm() else device.type)


def is_rocm() -> bool:
    """Tell whether torch's ``cuda`` devices are AMD's."""
    import torch  # noqa: PLC0415 - `import kernels` must not import torch

    return torch.version.hip is not None


def find_index(module: nn.Module) -> int | None:
    """Return the number of the GPU that a module's first tensor is on; None where there is none."""
    for tensors in (module.parameters(), module.buffers()):
        for tensor in tensors:
            if tensor.device.type == "cuda":
                return tensor.device.index
    return None


def probe_accelerator(index: int | None) -> Accelerator | None:
    """Return what a GPU is; None where torch sees no GPU.

    Never remembered between calls of ``kernelize``: a process may have GPUs that differ.

    Args:
        index: its number among the visible ones; None for the current one.
    """
    import torch  # noqa: PLC0415 - `import kernels` must not import torch

    from kernelmill.runtime.probe import device_of  # noqa: PLC0415 - marks are cheap to import

    if not torch.cuda.is_available():
        return None
    number = torch.cuda.current_device() if index is None else index
    properties = torch.cuda.get_device_properties(number)
    backend = Backend.ROCM if is_rocm() else Backend.CUDA
    return Accelerator(
        index=number,
        capability=properties.major * 10 + properties.minor,
        arch=device_of(properties, backend).arch,
    )
