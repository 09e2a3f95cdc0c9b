"""A plain GEMM in the layout of the first published kernel repositories."""

import torch

from ._ops import ops  # noqa: TID252 - each build has a name of its own


def gemm(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return ``a @ b``; a is [M, K], b is [K, N]: float32, contiguous."""
    if out is None:
        out = a.new_empty(a.shape[0], b.shape[1])
    ops.gemm(out, a, b)
    return out


__all__ = ["gemm"]
