"""Repositories that have moved."""

from kernelmill.runtime.upstream.moves import (
    KernelStatus,
    KernelStatusKind,
    Redirect,
    resolve_status,
)

__all__ = [
    "KernelStatus",
    "KernelStatusKind",
    "Redirect",
    "resolve_status",
]
