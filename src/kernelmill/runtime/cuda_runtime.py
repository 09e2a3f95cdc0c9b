"""The version of the CUDA runtime, asked of its library: for environments without PyTorch."""

from __future__ import annotations

import ctypes
import logging
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES: Final = ("libcudart.so", *(f"libcudart.so.{major}" for major in (14, 13, 12, "11.0")))
"""The linker's name, which only a toolkit installs, then those of releases, newest first."""

log = logging.getLogger(__name__)


def read_cuda_version(
    open_library: Callable[[str], Any] = ctypes.CDLL,
) -> tuple[int, int] | None:
    """Return the version of the first library that is found; None when there is none.

    Asking for it touches no device.
    """
    for name in NAMES:
        try:
            library = open_library(name)
            number = ctypes.c_int()
            status = library.cudaRuntimeGetVersion(ctypes.byref(number))
        except (OSError, AttributeError):  # no such library, or another one of that name
            continue
        if status == 0 and number.value > 0:
            major, rest = divmod(number.value, 1000)
            return major, rest // 10
        log.warning("%s does not tell its version: status %d", name, status)
    return None
