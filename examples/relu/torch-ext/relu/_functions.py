"""The operators as functions of tensors, and what PyTorch has to know of them."""

import torch

from ._ops import add_op_namespace_prefix, ops  # noqa: TID252 - each build has a name of its own


@torch.library.custom_op(add_op_namespace_prefix("relu_new"), mutates_args=())
def _forward(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    ops.relu(out, x.contiguous())
    return out


@torch.library.custom_op(add_op_namespace_prefix("relu_new_backward"), mutates_args=())
def _backward(grad: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    grad_x = torch.empty_like(out)
    ops.relu_backward(grad_x, grad.contiguous(), out)
    return grad_x


@_forward.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@_backward.register_fake
def _(grad: torch.Tensor, out: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    return torch.empty_like(out)


def _remember(ctx, inputs: tuple, output: torch.Tensor) -> None:  # noqa: ARG001
    ctx.save_for_backward(output)  # the result alone says where the gradient passes


def _differentiate(ctx, grad: torch.Tensor) -> torch.Tensor:
    (out,) = ctx.saved_tensors
    return _backward(grad, out)


_forward.register_autograd(_differentiate, setup_context=_remember)


def relu(x: torch.Tensor) -> torch.Tensor:
    """Return ``max(x, 0)`` in float32, contiguous, of any shape; NaN stays NaN."""
    return _forward(x)
