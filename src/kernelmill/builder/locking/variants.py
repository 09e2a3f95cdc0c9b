"""What a kernel is built as by release builds: what the matrix says, whatever is installed here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelmill.builder import offers
from kernelmill.builder.noarch.plan import noarch_variants
from kernelmill.builder.toolchain import probe_toolchain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelmill.builder.sources import KernelTree
    from kernelmill.spec.backend import Backend
    from kernelmill.spec.variant import Variant


def list_variants(
    tree: KernelTree,
    env: Mapping[str, str],
    *,
    python: str,
    backends: Sequence[Backend] | None = None,
    torches: Sequence[tuple[int, int]] | None = None,
) -> tuple[Variant, ...]:
    """Return the variants of a kernel for this machine's platform.

    Args:
        tree: the kernel.
        env: the environment.
        python: an interpreter, which is asked for TVM FFI.
        backends: those to look at; None for all of the kernel's.
        torches: versions of PyTorch; None for all that the kernel wants.

    Raises:
        PlanError: no version of PyTorch fits, or one is asked for that is not compiled against.
    """
    if tree.is_python_only:
        return noarch_variants(tree)
    toolchain = replace(probe_toolchain(env, python=python), torch=None)
    rows = offers.list_rows(tree, toolchain, backends=backends, torches=torches)
    return tuple(row.variant for row in rows)
