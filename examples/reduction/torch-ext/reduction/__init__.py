"""Sums of rows: shows a tree in LDS, with a barrier in each step."""

import torch

from ._ops import add_op_namespace_prefix, ops  # noqa: TID252 - each build has a name of its own


@torch.library.register_fake(add_op_namespace_prefix("row_sum"))
def _row_sum_fake(out: torch.Tensor, input: torch.Tensor) -> None:  # noqa: A002 - the op's name
    """Tell torch.compile that nothing is returned; ``out`` has its shape already."""


def row_sum(matrix: torch.Tensor) -> torch.Tensor:
    """Return the sum of each row of ``matrix``, [rows, columns], float32, contiguous."""
    out = matrix.new_empty(matrix.shape[:1])
    ops.row_sum(out, matrix)
    return out


__all__ = ["row_sum"]
