"""A kernel and those that it depends on, as the original's ``kernels.deps`` has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from kernelmill.runtime.cache import links_root
from kernelmill.runtime.errors import Unresolved
from kernelmill.runtime.load import load_variant
from kernelmill.runtime.tree import MAX_KERNELS
from kernelmill.runtime.upstream.places import LocalKernel, RemoteKernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from kernelmill.runtime.upstream.dependencies import KernelDependency
    from kernelmill.runtime.upstream.places import Location
    from kernelmill.runtime.upstream.resolvers import Resolver
    from kernelmill.runtime.upstream.sessions import Api
    from kernelmill.runtime.upstream.validators import MetadataValidator

T = TypeVar("T", bound="Location")


class NotInstalled(RuntimeError):
    """A tree is loaded before all of it is here."""


@dataclass(frozen=True)
class DepTreeNode(Generic[T]):
    """A kernel, and those that it may ask for, by repository."""

    location: T
    deps: dict[str, DepTreeNode[T]]

    def install(self, *, api: Api | None) -> DepTreeNode[LocalKernel]:
        """Return the same tree with every kernel on this machine.

        Raises:
            NotTrusted: a publisher is not trusted, nor is the kernel allowed; a ``ValueError``.
        """
        done: dict[int, DepTreeNode[LocalKernel]] = {}
        for node in self.walk():
            deps = {name: done[id(each)] for name, each in node.deps.items()}
            done[id(node)] = DepTreeNode(node.location.install(api=api), deps)
        return done[id(self)]

    def load(self) -> ModuleType:
        """Import the kernels, those that others depend on first; return the one at the top.

        Raises:
            NotInstalled: a kernel is not on this machine; a ``RuntimeError``.
        """
        nodes = tuple(self.walk())
        modules: dict[int, ModuleType] = {}
        if any(isinstance(node.location, RemoteKernel) for node in nodes):
            raise NotInstalled(
                "Can only load installed kernels, run `install()` on the kernel dependency tree "
                "first."
            )
        for node in nodes:
            assert isinstance(node.location, LocalKernel)
            folder = node.location.variant_path
            modules[id(node)] = load_variant(
                folder,
                root=links_root(folder),
                repo_info=node.location.repo_info,
                dependencies={name: modules[id(each)] for name, each in node.deps.items()},
            )
        return modules[id(self)]

    def validate_metadata(self, validator: MetadataValidator) -> None:
        """Let ``validator`` see every kernel of the tree once."""
        for node in self.walk():
            location = node.location
            validator.validate_metadata(metadata=location.metadata, variant=location.variant_str)

    def walk(self) -> Iterator[DepTreeNode[T]]:
        """Give every kernel of the tree once, those that others depend on first."""
        seen: set[int] = set()

        def visit(node: DepTreeNode[T]) -> Iterator[DepTreeNode[T]]:
            if id(node) not in seen:
                seen.add(id(node))
                for each in node.deps.values():
                    yield from visit(each)
                yield node

        return visit(self)


def resolve_kernel_tree(
    api: Api | None,
    kernel: KernelDependency,
    backend: str | None,
    resolver: Resolver | None,
    seen: set[KernelDependency] | None = None,
) -> DepTreeNode[Location]:
    """Find a kernel and all that it depends on; only metadata is fetched.

    Args:
        api: the Hub that resolvers ask.
        kernel: what is looked for.
        backend: ``cpu``, or the backend of the installed PyTorch, which is the default.
        resolver: says where kernels are; none of them knows any.
        seen: the kernels that need this one.

    Raises:
        Unresolved: one is nowhere, needs itself, or needs too many; a ``ValueError``.
    """
    return _Planner(api, backend, resolver).plan(kernel, tuple(seen or ()))


@dataclass(frozen=True)
class _Planner:
    api: Api | None
    backend: str | None
    resolver: Resolver | None
    done: dict[KernelDependency, DepTreeNode[Location]] = field(default_factory=dict)

    def plan(
        self, kernel: KernelDependency, path: tuple[KernelDependency, ...]
    ) -> DepTreeNode[Location]:
        if kernel in path:
            raise Unresolved(
                f"Cyclic kernel dependency detected: {kernel.repo_id}",
                hint="one of the kernels that need each other has to do without",
            )
        if kernel not in self.done:
            if len(self.done) + len(path) >= MAX_KERNELS:
                raise Unresolved(
                    f"depends on more than {MAX_KERNELS} kernels", where=_label(path[0])
                )
            location = self._find(kernel)
            needs = location.metadata.kernel_depends
            deps = {each.repo_id: self.plan(each, (*path, kernel)) for each in needs}
            if len(deps) < len(needs):
                raise Unresolved(
                    "depends on one kernel twice",
                    where=_label(kernel),
                    hint="a kernel can use one version of another; ask its author",
                )
            self.done[kernel] = DepTreeNode(location, deps)
        return self.done[kernel]

    def _find(self, kernel: KernelDependency) -> Location:
        if self.resolver is not None:
            found = self.resolver.resolve(api=self.api, backend=self.backend, kernel=kernel)
            if found is not None:
                return found
        raise Unresolved(f"Could not resolve kernel: {_label(kernel)}")


def _label(kernel: KernelDependency) -> str:
    if kernel.number is not None:
        return f"{kernel.repo_id} (version: {kernel.number})"
    return f"{kernel.repo_id} (revision: {kernel.revision})"


def get_kernel_with_resolver(
    *,
    api: Api | None,
    backend: str | None,
    kernel: KernelDependency,
    resolver: Resolver | None,
    metadata_validator: MetadataValidator,
) -> ModuleType:
    """Find a kernel, and let ``metadata_validator`` see it, before it is fetched and imported."""
    tree = resolve_kernel_tree(api, kernel, backend, resolver)
    tree.validate_metadata(metadata_validator)
    return tree.install(api=api).load()
