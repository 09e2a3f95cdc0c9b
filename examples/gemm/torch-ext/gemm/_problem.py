"""What a call of ``gemm`` must look like, checked on shapes and types alone: no data is read.

The operator repeats these checks in C++ for those who call it directly, in the same words; the
tests hold the two together.
"""

from typing import NamedTuple

import torch
from torch import Tensor

SCALE_BLOCK = 128  # values of K (and, in b_scale, of N) that share one scale
FP8_FORMATS = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)


class Sizes(NamedTuple):
    """The sizes of a product: ``out`` is [M, N], K is summed over."""

    m: int
    n: int
    k: int


def check_inputs(a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor) -> Sizes:
    """Return the sizes, or raise the one error that says what to pass instead.

    Raises:
        ValueError: a shape or a device does not match; names the argument.
        TypeError: a type does not match; names the argument.
    """
    _check_matrix(a, "a", "[K, M]", a)
    _check_matrix(b, "b", "[K, N]", a)
    _check_matrix(a_scale, "a_scale", "[ceil(K / 128), M]", a)
    _check_matrix(b_scale, "b_scale", "[ceil(K / 128), ceil(N / 128)]", a)
    _check_formats(a, b)
    _check_operand_shapes(a, b)
    sizes = Sizes(m=a.shape[1], n=b.shape[1], k=a.shape[0])
    blocks_k, blocks_n = _count_blocks(sizes.k), _count_blocks(sizes.n)
    _check_scale(a_scale, "a_scale", "[ceil(K / 128), M]", [blocks_k, sizes.m])
    _check_scale(b_scale, "b_scale", "[ceil(K / 128), ceil(N / 128)]", [blocks_k, blocks_n])
    return sizes


def check_no_gradient(a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor) -> None:
    """Raise where the product would silently lose a gradient that the caller expects.

    Raises:
        RuntimeError: gradients are recorded, and an operand wants one.
    """
    if not torch.is_grad_enabled():
        return
    operands = {"a": a, "b": b, "a_scale": a_scale, "b_scale": b_scale}
    for name, operand in operands.items():
        if operand.requires_grad:
            raise RuntimeError(
                f"{name} requires a gradient, and gemm has no backward: "
                f"pass {name}.detach(), or call it under torch.no_grad()"
            )


def check_out(out: Tensor, a: Tensor, sizes: Sizes) -> None:
    """Raise unless ``out`` can take the product: [M, N], bfloat16, each row contiguous.

    Raises:
        ValueError: the shape, the strides or the device do not match.
        TypeError: it is not bfloat16.
    """
    _check_matrix(out, "out", "[M, N]", a)
    if out.dtype != torch.bfloat16:
        raise TypeError(f"out is {_name(out.dtype)}, want bfloat16")
    want = [sizes.m, sizes.n]
    if list(out.shape) != want:
        raise ValueError(f"out is {list(out.shape)}, want {want} = [M, N]")
    has_whole_rows = sizes.n <= 1 or out.stride(1) == 1
    has_rows_apart = sizes.m <= 1 or out.stride(0) >= sizes.n
    if out.numel() > 0 and not (has_whole_rows and has_rows_apart):
        strides = list(out.stride())
        raise ValueError(f"out has strides {strides}, want row-major: {[sizes.n, 1]}")


def _count_blocks(size: int) -> int:
    return (size + SCALE_BLOCK - 1) // SCALE_BLOCK


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _check_matrix(tensor: Tensor, name: str, dims: str, a: Tensor) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is {type(tensor).__name__}, want torch.Tensor")
    if tensor.device != a.device:
        raise ValueError(f"{name} is on {tensor.device}, want {a.device} like a")
    if tensor.layout != torch.strided:
        raise ValueError(f"{name} is {tensor.layout}, want torch.strided")
    if tensor.dim() != 2:
        raise ValueError(f"{name} is {list(tensor.shape)}, want two dimensions, {dims}")


def _check_formats(a: Tensor, b: Tensor) -> None:
    if a.device.type != "cpu":
        return  # a GPU reads one of the formats; the operator was built for it and knows which
    if a.dtype not in FP8_FORMATS:
        raise TypeError(f"a is {_name(a.dtype)}, want float8_e4m3fn or float8_e4m3fnuz")
    if b.dtype != a.dtype:
        raise TypeError(f"b is {_name(b.dtype)}, want {_name(a.dtype)} like a: cpu takes either")


def _check_operand_shapes(a: Tensor, b: Tensor) -> None:
    if a.shape[0] == b.shape[0]:
        return
    # K, their first dimension, differs: one of them is probably the wrong way round.
    a_is, b_is = f"a is {list(a.shape)}", f"b is {list(b.shape)}"
    want_a = f"[K, M] = {list(a.shape)[::-1]}"
    want_b = f"[K, N] = {list(b.shape)[::-1]}"
    if a.shape[1] == b.shape[0]:
        raise ValueError(f"{a_is}, want {want_a}: pass a.t()")
    if a.shape[0] == b.shape[1]:
        raise ValueError(f"{b_is}, want {want_b}: pass b.t()")
    if a.shape[1] == b.shape[1]:
        raise ValueError(f"{a_is} and {b_is}, want {want_a} and {want_b}: pass a.t() and b.t()")
    raise ValueError(f"{a_is} and {b_is}, want [K, M] and [K, N] with one K")


def _check_scale(scale: Tensor, name: str, formula: str, want: list[int]) -> None:
    if scale.dtype != torch.float32:
        raise TypeError(f"{name} is {_name(scale.dtype)}, want float32")
    shape = list(scale.shape)
    if shape != want:
        hint = f": pass {name}.t()" if shape[::-1] == want else ""
        raise ValueError(f"{name} is {shape}, want {want} = {formula}{hint}")
