"""Softmax over the last dimension: a Triton kernel on GPUs, PyTorch's own operators elsewhere."""

import torch

from ._ops import add_op_namespace_prefix, ops  # noqa: TID252 - each build has a name of its own
from .tuning import launch_settings  # noqa: TID252 - each build has a name of its own

__all__ = ["launch_settings", "softmax"]


@torch.library.custom_op(add_op_namespace_prefix("softmax"), mutates_args=())
def _softmax(x: torch.Tensor) -> torch.Tensor:
    if x.is_cuda:
        from .softmax_triton import softmax_rows  # noqa: TID252

        return softmax_rows(x)
    shifted = (x.float() - x.float().amax(dim=-1, keepdim=True)).exp()
    return (shifted / shifted.sum(dim=-1, keepdim=True)).to(x.dtype)


@_softmax.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Return the softmax of each row of ``x``: [..., N], any float type, summed in float32."""
    if x.dim() == 0 or x.shape[-1] == 0:
        raise ValueError(f"softmax: want at least one column, got shape {tuple(x.shape)}")
    return ops.softmax(x.contiguous())
