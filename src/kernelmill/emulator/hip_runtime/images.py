"""Device code as the HIP runtime is given it: an address of this process, and no length."""

from __future__ import annotations

import ctypes
from struct import Struct
from typing import TYPE_CHECKING, Final

from kernelmill.binary import bundle
from kernelmill.binary.code_object import read_code_objects
from kernelmill.emulator.errors import LaunchError
from kernelmill.emulator.hip_runtime.properties import DEVICE, TARGET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelmill.binary.code_object import CodeObject

ELF_MAGIC: Final = b"\x7fELF"
ELF_HEADER: Final = Struct("<40xQ10xHH2x")
"""Where the section headers are, their size and their number: in what lld writes they come last."""


def read_image(address: int) -> bytes:
    """Return the bytes of the bundle or code object at ``address``.

    Raises:
        LaunchError: it is neither.
    """
    start = ctypes.string_at(address, len(bundle.MAGIC))
    if start == bundle.MAGIC:
        return ctypes.string_at(address, _bundle_size(address))
    if start.startswith(ELF_MAGIC):
        position, size, count = ELF_HEADER.unpack(ctypes.string_at(address, ELF_HEADER.size))
        return ctypes.string_at(address, position + size * count)
    if start.startswith(bundle.COMPRESSED_MAGIC):
        raise LaunchError(
            "the device code is a compressed offload bundle (CCOB), which is not read",
            hint="build with -no-offload-compress",
        )
    raise LaunchError(f"not device code: it starts with {start!r}")


def _bundle_size(address: int) -> int:
    position = len(bundle.MAGIC) + bundle.COUNT.size
    (count,) = bundle.COUNT.unpack(ctypes.string_at(address + len(bundle.MAGIC), bundle.COUNT.size))
    end = position
    for _ in range(count):
        entry = ctypes.string_at(address + position, bundle.ENTRY.size)
        offset, size, id_size = bundle.ENTRY.unpack(entry)
        position += bundle.ENTRY.size + id_size
        end = max(end, position, offset + size)
    return end


def choose_code(objects: Iterable[CodeObject]) -> CodeObject:
    """Return the code that the emulated device runs.

    Raises:
        LaunchError: there is none for it.
    """
    found = tuple(objects)
    for code in found:
        if code.arch == TARGET and _features(code.target) <= _features(DEVICE.arch):
            return code
    targets = " ".join(code.target for code in found) or "nothing"
    raise LaunchError(
        f"no device code for {DEVICE.arch}: the library was built for {targets}",
        hint=f"build it for {TARGET}",
    )


def _features(target: str) -> set[str]:
    return set(target.split(":")[1:])


def load_image(address: int) -> CodeObject:
    """Return the code at ``address`` that the emulated device runs."""
    return choose_code(read_code_objects(read_image(address), where=f"device code at {address:#x}"))
