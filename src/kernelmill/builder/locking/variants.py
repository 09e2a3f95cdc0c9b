"""What a kernel is built as by release builds: what the matrix says, whatever is installed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError
from kernelmill.builder.matrix import load_matrix, pick_series, rows_of
from kernelmill.builder.noarch.plan import noarch_variants
from kernelmill.builder.sources import MANIFEST_NAME
from kernelmill.spec.manifest import Torch

if TYPE_CHECKING:
    from kernelmill.builder.sources import KernelTree
    from kernelmill.spec.variant import Variant


def list_variants(tree: KernelTree, *, platform: str) -> tuple[Variant, ...]:
    """Return the variants of a kernel for a platform such as ``x86_64-linux``.

    Raises:
        PlanError: no version of PyTorch fits, or no SDK has what the kernel is compiled against.
    """
    if tree.is_python_only:
        return noarch_variants(tree)
    torch = tree.manifest.framework
    if not isinstance(torch, Torch):
        raise PlanError(
            "a kernel of TVM FFI cannot be locked: there is no SDK of TVM FFI yet",
            where=MANIFEST_NAME,
            hint="build it without --release",
        )
    matrix, backends = load_matrix(), tree.manifest.general.backends
    chosen = pick_series(matrix, torch, None, where=tree.where("torch"))
    rows = rows_of(matrix, tree.manifest, torch, chosen, backends=backends)
    return tuple(row.variant for row in rows if row.platform == platform)
