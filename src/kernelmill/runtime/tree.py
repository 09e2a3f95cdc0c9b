"""A kernel and the kernels that it depends on: planned as a whole, then fetched, then loaded.

The plan holds the metadata of every kernel in it, so that one that is missing, not trusted or
not for this machine stops everything before anything large is fetched.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import RepositoryNotFound, Unresolved
from kernelmill.runtime.load import load_variant
from kernelmill.runtime.resolvers import LocalKernel, Location, RemoteKernel
from kernelmill.spec.errors import KernelError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import ModuleType

    from kernelmill.runtime.requirements import ArchCheck
    from kernelmill.runtime.resolvers import Resolver
    from kernelmill.runtime.session import Session
    from kernelmill.spec.dependencies import KernelDependency

MAX_KERNELS: Final = 128
"""Most kernels that one may need, itself included: a Hub could invent them for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A kernel, and those that it may ask for."""

    location: Location
    dependencies: Mapping[str, Node] = field(default_factory=dict)
    """Repository id, as the kernel's metadata writes it -> the kernel."""

    def walk(self) -> Iterator[Node]:
        """Give every kernel of the tree once, those that others depend on first."""
        seen: set[int] = set()

        def visit(node: Node) -> Iterator[Node]:
            if id(node) not in seen:
                seen.add(id(node))
                for each in node.dependencies.values():
                    yield from visit(each)
                yield node

        return visit(self)


def plan(session: Session, wanted: KernelDependency, resolver: Resolver) -> Node:
    """Find a kernel and all that it depends on.

    Raises:
        Unresolved: one is nowhere, needs itself, or needs too many.
    """
    return _Planner(session=session, resolver=resolver).plan(wanted)


def plan_from(session: Session, root: Location, resolver: Resolver) -> Node:
    """Find all that a kernel depends on which is found already."""
    return _Planner(session=session, resolver=resolver).expand(root, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planner:
    session: Session
    resolver: Resolver
    done: dict[KernelDependency, Node] = field(default_factory=dict)
    """What two kernels depend on is looked for once."""

    def plan(self, wanted: KernelDependency, path: tuple[KernelDependency, ...] = ()) -> Node:
        if wanted in path:
            way = " -> ".join(map(label, (*path[path.index(wanted) :], wanted)))
            raise Unresolved(
                f"Cyclic kernel dependency detected: {wanted.repo_id}",
                where=way,
                hint="one of these kernels has to do without the next",
            )
        if wanted not in self.done:
            if len(self.done) + len(path) >= MAX_KERNELS:
                raise Unresolved(
                    f"depends on more than {MAX_KERNELS} kernels", where=label(path[0])
                )
            self.done[wanted] = self.expand(self._find(wanted, path), (*path, wanted))
        return self.done[wanted]

    def expand(self, location: Location, path: tuple[KernelDependency, ...]) -> Node:
        dependencies: dict[str, Node] = {}
        for wanted in location.metadata.kernel_depends:
            if str(wanted.repo_id) in dependencies:
                raise Unresolved(
                    f"depends on '{wanted.repo_id}' twice",
                    where=str(location),
                    hint="a kernel can use one version of another; ask its author",
                )
            try:
                dependencies[str(wanted.repo_id)] = self.plan(wanted, path)
            except KernelError as error:
                error.add_note(f"needed by {location}")
                raise
        return Node(location=location, dependencies=dependencies)

    def _find(self, wanted: KernelDependency, path: tuple[KernelDependency, ...]) -> Location:
        try:
            location = self.resolver.resolve(self.session, wanted)
        except RepositoryNotFound as error:
            if not path:
                raise  # the caller's own mistake, which has a name of its own
            raise Unresolved(
                f"Could not resolve kernel: {label(wanted)}", where=error.where, hint=error.problem
            ) from error
        if location is None:
            raise Unresolved(f"Could not resolve kernel: {label(wanted)}")
        return location


def label(wanted: KernelDependency) -> str:
    """Return a dependency as messages show it."""
    if wanted.version is not None:
        return f"{wanted.repo_id} (version: {wanted.version})"
    if wanted.revision is not None:
        return f"{wanted.repo_id} (revision: {wanted.revision})"
    return str(wanted.repo_id)


def check(session: Session, tree: Node, *, check_arch: ArchCheck) -> None:
    """Stop here unless this machine has what every kernel of a tree asks for."""
    for node in tree.walk():
        session.ensure_usable(node.location, check_arch=check_arch)


def install(session: Session, tree: Node) -> Path:
    """Fetch every kernel of a tree and return the folder of the one at its top."""
    return _install(session, tree)[id(tree)]


def load(session: Session, tree: Node) -> ModuleType:
    """Fetch the kernels of a tree, import them, and return the module of the one at its top.

    Each is imported after those that it depends on, and none while another is: two threads whose
    kernels share a third cannot wait for each other.
    """
    folders = _install(session, tree)
    modules: dict[int, ModuleType] = {}
    for node in tree.walk():
        dependencies = {name: modules[id(each)] for name, each in node.dependencies.items()}
        location = node.location
        if isinstance(location, LocalKernel):
            root, repo_info = location.root, None
        else:
            root, repo_info = session.cache.root, location.repo_info
        modules[id(node)] = load_variant(
            folders[id(node)],
            root=root,
            metadata=location.metadata,
            repo_info=repo_info,
            dependencies=dependencies,
        )
    return modules[id(tree)]


def _install(session: Session, tree: Node) -> dict[int, Path]:
    return {id(node): _install_one(session, node.location) for node in tree.walk()}


def _install_one(session: Session, location: Location) -> Path:
    match location:
        case LocalKernel():
            return location.folder
        case RemoteKernel():
            folder = session.install(location.selection, location.variant)
            if location.locked_hash is not None:
                from kernelmill.runtime.locks import check_locked_hash  # noqa: PLC0415 - rare

                check_locked_hash(folder, location.locked_hash)
            return folder
