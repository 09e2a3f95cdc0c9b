"""Repositories that have moved."""

from kernelmill.spec.status import (
    Redirect,
)

__all__ = [
    "Redirect",
]
