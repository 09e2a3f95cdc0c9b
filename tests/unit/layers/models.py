"""Small models and kernels. Everything here computes on the CPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import nn

from kernelmill.runtime.layers import use_kernel_forward_from_hub, use_kernelized_func

if TYPE_CHECKING:
    from collections.abc import Callable


@use_kernel_forward_from_hub("Scale")
class Scale(nn.Module):
    """Multiplies by a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x


class PlusHundred(nn.Module):
    """A kernel for Scale: 100 more, so that it can be told from the original."""

    can_torch_compile = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x + 100  # type: ignore[operator]


class InferenceOnly(nn.Module):
    has_backward = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.weight * x + 100).detach()  # type: ignore[operator]


@use_kernel_forward_from_hub("shift")
def shift(x: torch.Tensor) -> torch.Tensor:
    """Add one."""
    return x + 1


def fast_shift(x: torch.Tensor) -> torch.Tensor:
    return x + 1000


@use_kernelized_func(shift)
class Shifter(nn.Module):
    """Calls a function that a kernel can replace, in a layer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return shift(x)


@dataclass(eq=False)
class Offer:
    """A repository that offers one class, and counts how often it is asked."""

    kernel: type[nn.Module] | Exception = PlusHundred
    name: str = "acme/offer"
    loads: int = field(default=0)

    def load(self) -> type[nn.Module]:
        self.loads += 1
        if isinstance(self.kernel, Exception):
            raise self.kernel
        return self.kernel

    def __str__(self) -> str:
        return f"`{self.name}` (revision: v1), layer `Kernel`"


def model() -> nn.Sequential:
    """Return two layers that can be replaced, and one that cannot."""
    return nn.Sequential(Scale(), nn.Linear(2, 2), Scale())


def forward_class(function: Callable[..., object], **members: object) -> type[nn.Module]:
    """Return a class of modules with this ``forward``."""
    return type("Kernel", (nn.Module,), {"forward": function, **members})


ONES = torch.ones(2)
