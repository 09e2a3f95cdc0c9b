"""Make a CPU build of torch see the emulated device. Imported only when torch is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.emulator.device.errors import DeviceError
from kernelmill.emulator.device.extension import ensure_aliases, ensure_extension
from kernelmill.emulator.device.native_library import NativeLibrary

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from kernelmill.emulator.device.settings import Settings
    from kernelmill.emulator.hip_runtime.attach import HipRuntime


class Shim:
    """The steps, in the order in which torch's import calls for them."""

    def __init__(self, settings: Settings, runtime: HipRuntime) -> None:
        self._settings = settings
        self._runtime = runtime
        self._native: NativeLibrary | None = None

    @property
    def native(self) -> NativeLibrary:
        """Return the compiled part.

        Raises:
            DeviceError: torch was not imported through the hook.
        """
        if self._native is None:
            raise DeviceError("torch was imported before the emulated device was there")
        return self._native

    def before_torch(self, spec: ModuleSpec) -> None:
        """Load the compiled part: torch looks for devices once, when it starts."""
        folder = Path(spec.origin or "").parent
        library = ensure_extension(folder, self._settings)
        self._native = NativeLibrary(
            library,
            torch_library=folder / "lib" / "libtorch_cpu.so",
            aliases=ensure_aliases(self._settings),
        )
        self._native.start(self._runtime)

    def before_torch_cuda(self, _spec: ModuleSpec) -> None:
        """Fill ``torch._C`` with what ``torch.cuda`` looks for."""
        import torch.version  # noqa: PLC0415 - this is called by its import

        from kernelmill.emulator.device.torch_names import names  # noqa: PLC0415 - as above

        torch.version.hip = torch.version.rocm = self._settings.rocm
        for name, value in names(self.native, initialise=self._initialise).items():
            setattr(torch._C, name, value)

    def _initialise(self) -> None:
        """Do what ``torch._C._cuda_init`` does: called once, when the device is first used."""
        from kernelmill.emulator.device import torch_patches  # noqa: PLC0415 - as above

        self._runtime.session.memory_sources.append(self.native.changes)
        torch_patches.apply(self.native, uses_inductor=self._settings.uses_inductor)
