"""Where kernels are looked for."""

from kernelmill.runtime.resolvers import (
    LocalKernel,
    RemoteKernel,
    Resolver,
)

__all__ = [
    "LocalKernel",
    "RemoteKernel",
    "Resolver",
]
