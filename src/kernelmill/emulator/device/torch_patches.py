"""Changes to torch itself, made when the emulated device is first used. Each says why."""

# ruff: noqa: ANN401 - the signatures are those of what they replace

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from kernelmill.emulator.device.torch_names import device_properties

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.emulator.device.native_library import NativeLibrary


def apply(native: NativeLibrary, *, uses_inductor: bool) -> None:
    """Make all changes.

    Args:
        native: the compiled part.
        uses_inductor: leave ``torch.compile`` its default backend.
    """
    # A GPU build's C++ sets these two when it starts.
    vars(torch.cuda)["_get_device_properties"] = device_properties
    vars(torch.cuda)["default_generators"] = (torch.ops.kernelmill_emulator.default_generator(),)
    _replace(torch.UntypedStorage, "__new__", _new_storage)
    _replace(torch.UntypedStorage, "resize_", _storage_resizer(native))
    if not uses_inductor:
        _replace(torch._TorchCompileInductorWrapper, "__call__", _compile_without_inductor)


def _replace(owner: type, name: str, value: object) -> None:
    setattr(owner, name, value)


def _new_storage(cls: type, *args: Any, **kwargs: Any) -> Any:
    """Make device storages from tensors: the constructor of a CPU build refuses ``cuda``.

    ``copy.deepcopy`` and ``torch.load`` use it.
    """
    device = kwargs.get("device")
    if device is None or torch.device(device).type != "cuda":
        return torch._C.StorageBase.__new__(cls, *args, **kwargs)
    size = args[0] if args else 0
    return torch.empty(size, dtype=torch.uint8, device=device).untyped_storage()


def _storage_resizer(native: NativeLibrary) -> Callable[[Any, int], Any]:
    """Return ``UntypedStorage.resize_``: that of a CPU build refuses ``cuda``."""
    resize_on_host = torch.UntypedStorage.resize_

    def resize_(storage: Any, size: int) -> Any:
        if storage.device.type != "cuda":
            return resize_on_host(storage, size)
        native.resize_storage(storage._cdata, size)
        return storage

    return resize_


def _compile_without_inductor(_self: object, model: Any, inputs: Any, **_: object) -> Any:
    """Compile without Triton: capture and decompose, then run operators one by one."""
    from torch._dynamo.backends.debugging import aot_eager  # noqa: PLC0415 - takes seconds

    return aot_eager(model, inputs)
