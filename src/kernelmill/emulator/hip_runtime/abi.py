"""The C side of the stand-in as ctypes sees it: ``native/state.h``, and the errors we return."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from enum import IntEnum


class HipError(IntEnum):
    """Numbers of ``hipError_t``."""

    SUCCESS = 0
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    INVALID_IMAGE = 200
    NO_BINARY_FOR_GPU = 209
    NOT_FOUND = 500
    ILLEGAL_ADDRESS = 700
    LAUNCH_FAILURE = 719
    NOT_SUPPORTED = 801


INTERRUPTED = -1
"""A launch returns it when the user interrupts the program."""


class Launch(Structure):
    """One launch."""

    _fields_ = (
        ("module", c_uint64),
        ("kernel", c_char_p),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("dynamic_lds_bytes", c_uint64),
        ("arguments", POINTER(c_void_p)),
        ("packed", c_void_p),
        ("packed_bytes", c_uint64),
        ("stream", c_uint64),
    )


class Facts(Structure):
    """The answer to questions about a kernel."""

    _fields_ = (
        ("registers", c_uint32),
        ("lds_bytes", c_uint32),
        ("private_bytes", c_uint32),
        ("max_workgroup_size", c_uint32),
        ("blocks_per_unit", c_uint32),
    )


CALLBACKS = {
    "load": ctypes.CFUNCTYPE(c_int, c_uint64, c_void_p),
    "facts": ctypes.CFUNCTYPE(c_int, c_uint64, c_char_p, c_uint32, c_uint64, POINTER(Facts)),
    "symbol": ctypes.CFUNCTYPE(c_int, c_uint64, c_char_p, POINTER(c_void_p), POINTER(c_size_t)),
    "launch": ctypes.CFUNCTYPE(c_int, POINTER(Launch)),
    "allocate": ctypes.CFUNCTYPE(c_int, c_size_t, POINTER(c_void_p)),
    "release": ctypes.CFUNCTYPE(c_int, c_void_p),
    "range": ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), POINTER(c_size_t)),
    "written": ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t),
}
"""Callback -> its C type, in the order of ``struct Emulator``."""


class Emulator(Structure):
    """The functions that answer."""

    _fields_ = (*CALLBACKS.items(), ("interrupt", c_void_p))
