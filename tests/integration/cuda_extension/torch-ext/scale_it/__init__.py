import torch

from ._ops import ops  # noqa: TID252 - each build has a name of its own


def scale(t: torch.Tensor, by: float) -> torch.Tensor:
    ops.scale(t, by)
    return t
