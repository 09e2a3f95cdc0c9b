"""Multiply a tensor by a number, wherever the tensor comes from."""

from ._ops import ops  # noqa: TID252 - each build has a name of its own

__all__ = ["scale"]


def scale(out: object, x: object, factor: float) -> None:
    """Write ``factor * x`` into ``out``: float32, contiguous, of equal size, on one device.

    Both are tensors that speak DLPack, such as those of PyTorch and of NumPy.
    """
    ops.scale(out, x, factor)
