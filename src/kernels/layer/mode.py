"""What a model is used for."""

from kernelmill.runtime.layers import (
    Mode,
)

__all__ = [
    "Mode",
]
