"""Transpose: shows a padded tile in LDS that makes reads and writes contiguous."""

import torch

from ._ops import add_op_namespace_prefix, ops  # noqa: TID252 - each build has a name of its own


@torch.library.register_fake(add_op_namespace_prefix("transpose"))
def _transpose_fake(out: torch.Tensor, input: torch.Tensor) -> None:  # noqa: A002 - the op's name
    """Tell torch.compile that nothing is returned; ``out`` has its shape already."""


def transpose(matrix: torch.Tensor) -> torch.Tensor:
    """Return ``matrix.t()``, in memory of its own; ``matrix`` is 2-D, float32, contiguous."""
    out = matrix.new_empty(matrix.shape[::-1])
    ops.transpose(out, matrix)
    return out


__all__ = ["transpose"]
