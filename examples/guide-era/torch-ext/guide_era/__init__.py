"""Twice each element."""

import torch

from ._ops import ops  # noqa: TID252 - each build has a name of its own


def double_it(x: torch.Tensor) -> torch.Tensor:
    """Return ``2 * x``: float32 and contiguous, like ``x``."""
    out = torch.empty_like(x)
    ops.double_it(out, x)
    return out
