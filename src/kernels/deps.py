"""The kernels that a kernel depends on."""

from kernelmill.runtime.api import get_kernel_dep
from kernelmill.runtime.dependencies import offering as use_kernel_deps
from kernelmill.runtime.upstream.trees import (
    DepTreeNode,
    resolve_kernel_tree,
)

__all__ = [
    "DepTreeNode",
    "get_kernel_dep",
    "resolve_kernel_tree",
    "use_kernel_deps",
]
