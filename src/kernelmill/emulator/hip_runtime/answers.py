"""What the emulator answers when the stand-in asks: device code, launches, memory.

Each method is called from C, returns a HIP error, and may raise: ``attach`` turns that into an
error with the exception's text.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

from kernelmill.binary.errors import BinaryError
from kernelmill.binary.occupancy import LIMITS, occupancy
from kernelmill.emulator.errors import DeviceFault, LaunchError, UnsupportedInstruction
from kernelmill.emulator.hip_runtime.abi import HipError
from kernelmill.emulator.hip_runtime.errors import NoDeviceCode
from kernelmill.emulator.hip_runtime.properties import TARGET
from kernelmill.emulator.launch import Dispatch
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from ctypes import _Pointer as Pointer
    from ctypes import c_size_t, c_void_p

    from kernelmill.binary.code_object import Kernel
    from kernelmill.emulator.hip_runtime.abi import Facts, Launch
    from kernelmill.emulator.hip_runtime.session import Session

HIDDEN: Final = "hidden_"
"""How the kinds of arguments begin that the launch fills in, not the caller."""
ERRORS: Final[dict[type[Exception], HipError]] = {
    NoDeviceCode: HipError.NO_BINARY_FOR_GPU,
    BinaryError: HipError.INVALID_IMAGE,
    LaunchError: HipError.INVALID_VALUE,
    DeviceFault: HipError.ILLEGAL_ADDRESS,
    UnsupportedInstruction: HipError.NOT_SUPPORTED,
    MemoryError: HipError.OUT_OF_MEMORY,
}


def hip_error(error: Exception) -> HipError:
    """Return the HIP error for what an answer raised."""
    for kind, number in ERRORS.items():
        if isinstance(error, kind):
            return number
    return HipError.LAUNCH_FAILURE


class Answers:
    """The callbacks, by the names of ``struct Emulator``."""

    def __init__(self, session: Callable[[], Session]) -> None:
        self._session = session

    def load(self, module: int, image: int) -> HipError:
        """Read the device code of a library."""
        try:
            self._session().load(module, image)
        except InputError as error:
            self._session().failures.append(error)
            raise
        return HipError.SUCCESS

    def launch(self, pointer: Pointer[Launch]) -> HipError:
        """Run a kernel to its end."""
        what = pointer.contents
        session = self._session()
        name = what.kernel.decode()
        kernel = session.kernel(what.module, name)
        session.launch(
            Dispatch(
                code_object=session.code(what.module),
                kernel=name,
                grid=tuple(what.grid),
                block=tuple(what.block),
                dynamic_lds_bytes=what.dynamic_lds_bytes,
                arguments=read_arguments(kernel, what),
            )
        )
        return HipError.SUCCESS

    def facts(
        self,
        module: int,
        name: bytes,
        block_size: int,
        dynamic_lds_bytes: int,
        facts: Pointer[Facts],
    ) -> HipError:
        """Say what a kernel needs, and how many workgroups of it fit on a compute unit."""
        kernel = self._session().kernel(module, name.decode())
        fits = occupancy(
            LIMITS[TARGET],
            vgpr_count=kernel.vgpr_count,
            lds_bytes=kernel.lds_bytes + dynamic_lds_bytes,
            workgroup_size=block_size,
            sgpr_count=kernel.sgpr_count,
        )
        answer = facts.contents
        answer.registers = kernel.vgpr_count
        answer.lds_bytes = kernel.lds_bytes
        answer.private_bytes = kernel.private_bytes
        answer.max_workgroup_size = kernel.max_workgroup_size
        answer.blocks_per_unit = fits.workgroups_per_cu
        return HipError.SUCCESS

    def symbol(
        self, module: int, name: bytes, address: Pointer[c_void_p], size: Pointer[c_size_t]
    ) -> HipError:
        """Say where a device variable is."""
        place, size_bytes = self._session().variable(module, name.decode())
        address[0], size[0] = place, size_bytes
        return HipError.SUCCESS

    def allocate(self, size_bytes: int, address: Pointer[c_void_p]) -> HipError:
        """Give out device memory."""
        address[0] = self._session().allocate(size_bytes)
        return HipError.SUCCESS

    def release(self, address: int) -> HipError:
        """Take device memory back."""
        self._session().memory.free(address)
        return HipError.SUCCESS

    def range(self, address: int, start: Pointer[c_void_p], size: Pointer[c_size_t]) -> HipError:
        """Say which allocation an address is in."""
        session = self._session()
        session.sync_memory()
        found = session.memory.find(address or 0)
        if found is None:
            return HipError.INVALID_VALUE
        start[0], size[0] = found.address, found.size_bytes
        return HipError.SUCCESS

    def written(self, address: int, size_bytes: int) -> HipError:
        """Take note of what the host wrote to device memory."""
        self._session().memory.mark_written(address, size_bytes)
        return HipError.SUCCESS


def read_arguments(kernel: Kernel, what: Launch) -> tuple[bytes, ...]:
    """Return the bytes of each argument that the caller gives, in order.

    Raises:
        LaunchError: the caller's block of arguments is too short.
    """
    explicit = [arg for arg in kernel.args if not arg.value_kind.startswith(HIDDEN)]
    if what.arguments:
        return tuple(
            ctypes.string_at(what.arguments[index], arg.size_bytes)
            for index, arg in enumerate(explicit)
        )
    end = max((arg.offset + arg.size_bytes for arg in explicit), default=0)
    if end > what.packed_bytes:
        raise LaunchError(
            f"kernel {kernel.name!r} takes {end} bytes of arguments, and was given"
            f" {what.packed_bytes}"
        )
    return tuple(ctypes.string_at(what.packed + arg.offset, arg.size_bytes) for arg in explicit)
