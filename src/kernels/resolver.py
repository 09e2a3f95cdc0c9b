"""Where kernels are looked for."""

from kernelmill.runtime.upstream.places import (
    LocalKernel,
    RemoteKernel,
)
from kernelmill.runtime.upstream.resolvers import (
    HubCacheResolver,
    HubResolver,
    KernelPathsResolver,
    LockedHubCacheResolver,
    LockedHubResolver,
    NoopResolver,
    RepoPathsResolver,
    Resolver,
    SequentialResolver,
    resolve_hub_cache_kernel,
    resolve_hub_kernel,
    resolve_local_kernel,
)

__all__ = [
    "HubCacheResolver",
    "HubResolver",
    "KernelPathsResolver",
    "LocalKernel",
    "LockedHubCacheResolver",
    "LockedHubResolver",
    "NoopResolver",
    "RemoteKernel",
    "RepoPathsResolver",
    "Resolver",
    "SequentialResolver",
    "resolve_hub_cache_kernel",
    "resolve_hub_kernel",
    "resolve_local_kernel",
]
