"""The ways to a kernel that the original's resolvers open, which are called with an ``HfApi``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from kernels import deps, load, locking, resolver, validate
from kernels._rust import KernelDependency, KernelLocks, KernelPaths, KernelVersion

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from pathlib import Path

    Way = Callable[..., object]

API: Final = SimpleNamespace(endpoint="http://hub.test", token=None)


def first_version(repo: str) -> KernelDependency:
    return KernelDependency(repo, KernelVersion.Version(1))


def locks_in(folder: Path) -> KernelLocks:
    return KernelLocks.from_json((folder / "kernels.lock").read_text())


def sequence(*links: Any) -> Any:  # noqa: ANN401 - a mix of resolvers
    return resolver.SequentialResolver([resolver.NoopResolver(), *links])


def repo_paths(folder: Path) -> resolver.RepoPathsResolver:
    return resolver.RepoPathsResolver({"acme/override": folder / "override"})


def kernel_paths(folder: Path) -> resolver.KernelPathsResolver:
    places: dict[KernelDependency, PathLike[str] | str] = {
        first_version("acme/override"): folder / "override"
    }
    return resolver.KernelPathsResolver(KernelPaths(places))


def loading(make: Callable[[Path, Any], Any]) -> Way:
    """Load with a resolver, made of a folder and of whom the caller trusts."""

    def way(folder: Path, repo: str, *, trust_remote_code: object) -> object:
        return load.get_kernel_with_resolver(
            api=API,
            backend=None,
            kernel=first_version(repo),
            resolver=make(folder, trust_remote_code),
            metadata_validator=validate.AllValidator(validate.default_metadata_validators()),
        )

    return way


def step_by_step(_: Path, repo: str, *, trust_remote_code: Any) -> object:  # noqa: ANN401
    finder = resolver.HubResolver(trust_remote_code)
    tree = deps.resolve_kernel_tree(API, first_version(repo), None, finder)
    return tree.install(api=API).load()


def hub_kernel(_: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return resolver.resolve_hub_kernel(repo, api=API, backend=None, revision="v1", **options)


def cached_kernel(_: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return resolver.resolve_hub_cache_kernel(API, repo, revision="v1", backend=None, **options)


def lock_tree(_: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return locking.lock_kernel_tree(first_version(repo), api=API, **options)


def lock_all(_: Path, repo: str, **options: Any) -> object:  # noqa: ANN401
    return locking.extract_dependency_locks([first_version(repo)], api=API, **options)


HUB: Final[list[Way]] = [
    loading(lambda _, trust: sequence(resolver.HubResolver(trust))),
    loading(lambda _, trust: resolver.HubCacheResolver(trust)),
    step_by_step,
]
LOCKED: Final[list[Way]] = [
    loading(lambda folder, trust: resolver.LockedHubResolver(locks_in(folder), trust)),
    loading(lambda folder, trust: resolver.LockedHubCacheResolver(locks_in(folder), trust)),
]
HUB_FUNCTIONS: Final[list[Way]] = [hub_kernel, cached_kernel]
LOCKING: Final[list[Way]] = [lock_tree, lock_all]
IN_FOLDERS: Final[list[Way]] = [
    loading(lambda folder, trust: sequence(repo_paths(folder), resolver.HubResolver(trust))),
    loading(lambda folder, trust: sequence(kernel_paths(folder), resolver.HubResolver(trust))),
]

STRANGER: Final = "stranger/toy"
WAYS: Final[list[tuple[Way, str]]] = [
    *((way, STRANGER) for way in (*HUB, *LOCKED, *HUB_FUNCTIONS, *LOCKING)),
    *((way, "acme/user") for way in (*HUB, *LOCKED, *LOCKING)),
    *((way, "acme/moved") for way in (*HUB, *HUB_FUNCTIONS)),
    *((way, "acme/override") for way in IN_FOLDERS),
]
TRIED: Final = {
    "kernels.deps": {"DepTreeNode", "resolve_kernel_tree"},
    "kernels.load": {"get_kernel_with_resolver"},
    "kernels.locking": {"extract_dependency_locks", "lock_kernel_tree"},
    "kernels.resolver": {
        "HubCacheResolver",
        "HubResolver",
        "KernelPathsResolver",
        "LockedHubCacheResolver",
        "LockedHubResolver",
        "NoopResolver",
        "RemoteKernel",
        "RepoPathsResolver",
        "SequentialResolver",
        "resolve_hub_cache_kernel",
        "resolve_hub_kernel",
    },
}
"""Module -> the names there that a Hub's address or somebody's trust is given to."""
READ_ONLY: Final = {
    "kernels.resolver": {"LocalKernel", "Resolver"},
    "kernels.status": {"KernelStatus", "resolve_status"},
    "kernels.variants": {"get_variants"},
}
"""Likewise, but no code of a kernel comes that way."""
