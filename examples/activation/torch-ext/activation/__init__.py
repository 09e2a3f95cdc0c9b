"""Activations: shows one CUDA source that serves NVIDIA's GPUs and, translated, AMD's."""

import torch

from ._ops import add_op_namespace_prefix, ops  # noqa: TID252 - each build has a name of its own


@torch.library.register_fake(add_op_namespace_prefix("silu_and_mul"))
def _silu_and_mul_fake(out: torch.Tensor, input: torch.Tensor) -> None:  # noqa: A002 - the op's name
    """Tell torch.compile that nothing is returned; ``out`` has its shape already."""


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """Return ``silu(x[..., :d]) * x[..., d:]``, [..., d], in the type of ``x``.

    Args:
        x: [..., 2 * d], contiguous; float32, float16 or bfloat16. Computed in float32.
    """
    out = x.new_empty((*x.shape[:-1], x.shape[-1] // 2))
    ops.silu_and_mul(out, x)
    return out


__all__ = ["silu_and_mul"]
