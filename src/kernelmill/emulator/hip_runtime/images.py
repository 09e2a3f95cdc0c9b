"""Device code as the HIP runtime is given it: an address of this process, and no length."""

from __future__ import annotations

import ctypes
from struct import Struct
from typing import TYPE_CHECKING, Final

from kernelmill.binary import bundle, code_object
from kernelmill.binary.errors import BinaryError
from kernelmill.emulator.hip_runtime.errors import NoDeviceCode
from kernelmill.emulator.hip_runtime.properties import DEVICE, TARGET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.binary.code_object import CodeObject

ELF_MAGIC: Final = b"\x7fELF"
ELF_HEADER: Final = Struct("<40xQ10xHH2x")
"""Where the section headers are, their size and their number: in what lld writes they come last."""


def read_image(address: int) -> bytes:
    """Return the bytes of the bundle or code object at ``address``.

    Raises:
        BinaryError: it is neither, or compressed.
    """
    start = ctypes.string_at(address, len(bundle.MAGIC))
    if start == bundle.MAGIC:
        return ctypes.string_at(address, _bundle_size(address))
    if start.startswith(ELF_MAGIC):
        position, size, count = ELF_HEADER.unpack(ctypes.string_at(address, ELF_HEADER.size))
        return ctypes.string_at(address, position + size * count)
    if start.startswith(bundle.COMPRESSED_MAGIC):
        raise BinaryError(
            "the device code is a compressed offload bundle (CCOB), which is not read",
            hint="build with -no-offload-compress",
        )
    raise BinaryError(f"not device code: it starts with {start!r}")


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


def choose_target(targets: Sequence[str]) -> int:
    """Return the index of the code that the emulated device runs.

    Raises:
        NoDeviceCode: there is none for it.
    """
    for index, target in enumerate(targets):
        arch, *features = target.split(":")
        if arch == TARGET and set(features) <= set(DEVICE.arch.split(":")):
            return index
    raise NoDeviceCode(
        f"no device code for {DEVICE.arch}: the library was built for"
        f" {' '.join(targets) or 'nothing'}",
        hint=f"build it for {TARGET}",
    )


def load_image(address: int) -> CodeObject:
    """Return the code at ``address`` that the emulated device runs.

    Raises:
        NoDeviceCode: there is none for it.
        BinaryError: damaged, or not device code.
    """
    data, where = read_image(address), f"device code at {address:#x}"
    if not bundle.is_bundle(data):
        code = code_object.parse(data, where=where)
        choose_target([code.target])
        return code
    # The code for other GPUs is not looked into: it may be newer than what we can read.
    entries = [entry for entry in bundle.parse(data, where=where) if entry.target]
    chosen = entries[choose_target([entry.target for entry in entries])]
    return code_object.parse(chosen.data, where=where)
