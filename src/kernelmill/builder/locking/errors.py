"""What can be wrong with a lock."""

from __future__ import annotations

from kernelmill.spec.errors import InputError


class BuildLockError(InputError):
    """``build.lock`` is missing, cannot be read, or does not have what a build needs."""
