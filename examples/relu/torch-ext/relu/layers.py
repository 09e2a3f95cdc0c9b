"""Layers that take the place of PyTorch's: see `kernelize`."""

import torch

from ._functions import relu  # noqa: TID252 - each build has a name of its own


class ReLU(torch.nn.Module):
    """Takes the place of ``torch.nn.ReLU``."""

    has_backward = True
    can_torch_compile = True

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - torch's own name
        """Return the larger of each element and zero."""
        return relu(input)
