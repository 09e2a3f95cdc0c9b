"""The larger of each element and zero."""

import torch

from ._ops import add_op_namespace_prefix, ops  # noqa: TID252 - each build has a name of its own

__all__ = ["relu"]


@torch.library.register_fake(add_op_namespace_prefix("relu"))
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def relu(x: torch.Tensor) -> torch.Tensor:
    """Return ``max(x, 0)``: float32 and contiguous, like ``x``."""
    return ops.relu(x)
