"""What can go wrong with a sandbox."""

from __future__ import annotations

from kernelmill.spec.errors import HostError


class NoSandbox(HostError):
    """This machine allows no sandbox, or not the one that is asked for."""
