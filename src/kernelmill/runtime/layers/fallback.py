"""When a layer may keep its own ``forward``, and how loudly that is said."""

from __future__ import annotations

from enum import Flag, StrEnum, auto

from kernelmill.spec.errors import InputError


class KernelizeFallback(Flag):
    """The cases in which a layer may keep its own ``forward``; in all others kernelizing raises."""

    NONE = 0
    NO_LAYER = auto()
    """No mapping names the layer."""
    NO_DEVICE = auto()
    """The layer's mapping has nothing for the device type."""
    NO_COMPATIBLE_PROPERTIES = auto()
    """Nothing there is for a device of this capability or architecture."""
    NO_COMPATIBLE_MODE = auto()
    """Nothing there is registered for the mode, or the kernel does not support it."""
    CANNOT_LOAD = auto()
    """The kernel or a build of it for this machine is missing."""

    DEFAULT = NO_LAYER | NO_DEVICE | NO_COMPATIBLE_PROPERTIES | NO_COMPATIBLE_MODE
    ALL = DEFAULT | CANNOT_LOAD


class Policy(StrEnum):
    """What happens to a layer that no kernel serves."""

    ERROR = "error"
    """Nothing is replaced; one error names every such layer."""
    WARN = "warn"
    """It keeps its own ``forward``; one warning for the whole model says which, and why."""
    SILENT = "silent"
    """It keeps its own ``forward``; only the log's INFO level says so."""

    @classmethod
    def parse(cls, text: str, *, where: str) -> Policy:
        """Read a policy's name."""
        try:
            return cls(text.lower())
        except ValueError as error:
            raise InputError(
                f"{text!r} is not a policy", where=where, hint=f"use {', '.join(cls)}"
            ) from error


def parse_fallback(use_fallback: bool | KernelizeFallback) -> KernelizeFallback:
    """Read what callers pass as ``use_fallback``: a set of cases, the default ones, or none."""
    if isinstance(use_fallback, KernelizeFallback):
        return use_fallback
    return KernelizeFallback.DEFAULT if use_fallback else KernelizeFallback.NONE
