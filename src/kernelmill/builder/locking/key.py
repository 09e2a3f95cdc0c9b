"""The key of a release build: equal for equal inputs, and different for any other."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from kernelmill.builder.inside import order as order_format

if TYPE_CHECKING:
    from kernelmill.builder.inside.order import Order
    from kernelmill.builder.sources import KernelTree

_FORMAT: Final = "kernelmill-release-1"


def build_key(tree: KernelTree, order: Order, *, builder_sha256: str) -> str:
    """Return 64 digits. The clock, the folder, the user and the environment are no part of it.

    Args:
        tree: the sources.
        order: what is built of them, and of which SDKs.
        builder_sha256: of the builder itself.
    """
    lines = [f"{path}\0{tree.files[path]}" for path in sorted(tree.files)]
    parts = (_FORMAT, builder_sha256, tree.manifest_sha256, order_format.dumps(order), *lines)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
