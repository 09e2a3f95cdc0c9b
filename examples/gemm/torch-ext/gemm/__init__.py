"""FP8 block-scaled matrix multiplication.

import kernels
gemm = kernels.get_kernel("kernels-community/gemm")
c = gemm.gemm(a, b, a_scale, b_scale)
"""

import torch
from torch import Tensor

# Relative, since each build is loaded under a name of its own.
from ._ops import add_op_namespace_prefix, ops  # noqa: TID252 (see above)
from ._problem import check_inputs, check_no_gradient, check_out  # noqa: TID252 (see above)

__all__ = ["gemm"]


def gemm(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, out: Tensor | None = None
) -> Tensor:
    """Multiply block-scaled FP8 matrices: ``(a * a_scale).T @ (b * b_scale)``, in bfloat16.

    Memory order is read from the strides: a matrix of a linear layer, stored as [M, K] or [N, K],
    is passed as ``x.t()`` and is not copied.

    Args:
        a: [K, M], FP8 E4M3. FNUZ on gfx942 (largest 240); on a CPU FNUZ or FN (largest 448).
            Fastest when either dimension is contiguous.
        b: [K, N], same type as ``a``.
        a_scale: [ceil(K / 128), M], float32, one factor per column of ``a`` and 128 of K.
        b_scale: [ceil(K / 128), ceil(N / 128)], float32, one factor per 128 x 128 block of ``b``.
        out: [M, N], bfloat16, each row contiguous; allocated when it is not given.

    Returns:
        ``out``. Sums are float32, in the order of K, and are rounded once, to nearest even; K = 0
        gives zeros. The same inputs give the same bits, whatever the number of threads.

    Raises:
        RuntimeError: a gradient would be needed; there is no backward.
        ValueError: a shape, stride or device does not match; names the argument.
        TypeError: a type does not match; names the argument.

    Source: 1 x 128 and 128 x 128 scaling as in the DeepSeek-V3 report, section 3.3.
    """
    sizes = check_inputs(a, b, a_scale, b_scale)
    check_no_gradient(a, b, a_scale, b_scale)
    if out is None:
        out = torch.empty((sizes.m, sizes.n), dtype=torch.bfloat16, device=a.device)
    else:
        check_out(out, a, sizes)
    ops.gemm(out, a, b, a_scale, b_scale)
    return out


@torch.library.register_fake(add_op_namespace_prefix("gemm"))
def _gemm_fake(out: Tensor, a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor) -> None:
    check_out(out, a, check_inputs(a, b, a_scale, b_scale))
