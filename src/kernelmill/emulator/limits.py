"""What a gfx942 device accepts to launch."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from kernelmill.emulator.errors import LaunchError

if TYPE_CHECKING:
    from kernelmill.binary.code_object import Kernel
    from kernelmill.emulator.launch import Dispatch

LDS_BYTES: Final = 64 * 1024
WORKGROUP_ITEMS: Final = 1024
MAX_STEPS: Final = 20_000_000
"""Steps of a ``Machine`` while no wave ends, after which it is stuck: some minutes."""


def check_launch(dispatch: Dispatch, kernel: Kernel) -> None:
    """Refuse what no device would start.

    Raises:
        LaunchError: says which limit, or which argument.
    """
    items, where = prod(dispatch.block), kernel.name
    lds = kernel.lds_bytes + dispatch.dynamic_lds_bytes
    if min(*dispatch.grid, *dispatch.block) < 1:
        raise LaunchError(
            f"grid {dispatch.grid} and block {dispatch.block} must be 1 or more", where=where
        )
    if items > min(kernel.max_workgroup_size, WORKGROUP_ITEMS):
        raise LaunchError(
            f"{items} work-items in a workgroup, but it was compiled for"
            f" {kernel.max_workgroup_size}",
            where=where,
            hint="set __launch_bounds__",
        )
    if lds > LDS_BYTES:
        raise LaunchError(f"{lds} bytes of LDS, but there are {LDS_BYTES}", where=where)
    _check_arguments(dispatch, kernel)


def _check_arguments(dispatch: Dispatch, kernel: Kernel) -> None:
    explicit = [item for item in kernel.args if not item.value_kind.startswith("hidden_")]
    given = dispatch.arguments
    if len(explicit) != len(given):
        raise LaunchError(
            f"{len(given)} arguments, but it takes {len(explicit)}", where=kernel.name
        )
    for place, (wanted, value) in enumerate(zip(explicit, given, strict=True)):
        if len(value) != wanted.size_bytes:
            raise LaunchError(
                f"argument {place} has {len(value)} bytes, want {wanted.size_bytes}",
                where=kernel.name,
            )
