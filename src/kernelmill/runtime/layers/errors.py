"""What can go wrong while layers are given kernels.

Each class also is the builtin that Hugging Face's ``kernels`` raises in the same place.
"""

from __future__ import annotations

from kernelmill.spec.errors import InputError, KernelError


class BadMode(InputError):
    """A mode that layers cannot be kernelized for."""


class NotAMode(InputError, TypeError):
    """Something else where a mode is needed."""


class BadDevice(InputError):
    """A device, or the range of devices, that is none."""


class NotAnInteger(InputError, TypeError):
    """A compute capability that is no whole number."""


class BadMapping(InputError, TypeError):
    """An entry of a kernel mapping cannot be used. Raised when a layer asks for it."""


class BadRepository(InputError):
    """A repository object that does not say which revision to load."""


class NoKernel(KernelError, ValueError):
    """No kernel serves a layer, and falling back is not allowed in this case."""

    exit_code = 1


class NoLayer(KernelError, ValueError):
    """A kernel does not have the layer or the function that a mapping names."""

    exit_code = 1


class ModeUnsupported(KernelError, ValueError):
    """A kernel is registered for a mode that it does not support."""

    exit_code = 1


class NotALayer(KernelError, TypeError):
    """What a kernel offers cannot take the place of a layer's ``forward``."""

    exit_code = 1


class NotExtensible(InputError):
    """A function that has no layer name is to be used as a kernel function."""


class CannotDecorate(InputError, TypeError):
    """A decorator is applied to something that is neither a class nor a function."""
