"""A layer or a function of a kernel, for use in a mapping.

Making one checks nothing and reads nothing, since libraries make them while they are imported.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Generic, TypeVar

from kernelmill.runtime.layers.errors import NoLayer
from kernelmill.runtime.layers.extension import make_function_layer
from kernelmill.runtime.layers.source import (
    HubSource,
    LocalSource,
    LockedSource,
    trust_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from types import ModuleType

    from torch import nn

    from kernelmill.runtime.layers.source import Source, Trust
    from kernelmill.spec.lockfile import LockedKernel, Lockfile

log = logging.getLogger(__name__)

S = TypeVar("S", bound="Source")


class KernelPart(Generic[S]):
    """One named part of a kernel. Two that load the same with the same trust are equal."""

    kind = "layer"

    def __init__(self, source: S, name: str) -> None:
        """Name a part of what ``source`` loads."""
        self._source = source
        self._name = name

    def load(self) -> type[nn.Module]:
        """Return the class whose ``forward`` replaces a layer's.

        Raises:
            NoLayer: the kernel has no such part.
            KernelError: whatever ``get_kernel`` raises.
        """
        return self._find(self._source.load())

    def _find(self, kernel: ModuleType) -> type[nn.Module]:
        layers = getattr(kernel, "layers", None)
        if layers is None:
            raise NoLayer(
                f"Kernel repo {self} does not define any layers.",
                hint="the kernel's __init__.py has to import its `layers`",
            )
        layer: type[nn.Module] | None = getattr(layers, self._name, None)
        if layer is None:
            raise NoLayer(f"Layer `{self._name}` not found in kernel repo {self}.")
        return layer

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KernelPart):
            return NotImplemented
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return type(self).__name__, self._name, self._source

    def __str__(self) -> str:
        return f"{self._source}, {self.kind} `{self._name}`"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


class _Function(KernelPart[S]):
    kind = "function"

    def __init__(self, source: S, name: str) -> None:
        super().__init__(source, name)
        old, new = type(self).__name__, type(self).__name__.replace("Func", "Layer")
        text = "%s is deprecated and will be removed in kernels 0.17. Use %s instead."
        log.warning(text, old, new, stacklevel=3)

    def _find(self, kernel: ModuleType) -> type[nn.Module]:
        function = getattr(kernel, self._name, None)
        if function is None:
            raise NoLayer(f"Function `{self._name}` not found in `{self._source}`")
        return make_function_layer(function)


class _OnHub(KernelPart[HubSource]):
    """Read by programs that were written for Hugging Face's package."""

    @property
    def _repo_id(self) -> str:
        return self._source.repo_id

    @property
    def _revision(self) -> str | None:
        return self._source.revision

    @property
    def _version(self) -> int | None:
        return self._source.version

    @property
    def _trust_remote_code(self) -> Trust:
        return self._source.trust


class _Locked(KernelPart[LockedSource]):
    @property
    def kernel_locks(self) -> Lockfile:
        """The content of the lock file, read now."""
        return self._source.read_locks()

    @property
    def kernel_dep(self) -> LockedKernel:
        """What the lock file says of the repository, read now."""
        return self._source.read_lock()


class LayerRepository(_OnHub):
    """A layer of a kernel on the Hub."""

    def __init__(
        self,
        repo_id: str,
        *,
        layer_name: str,
        revision: str | None = None,
        version: int | None = None,
        trust_remote_code: bool | Iterable[str] = False,
        user_agent: str | Mapping[str, str] | None = None,
    ) -> None:
        """Name a layer. Exactly one of ``revision`` and ``version`` has to be given.

        Args:
            repo_id: such as ``kernels-community/activation``.
            layer_name: the name of a class in the kernel's ``layers``.
            revision: a branch, a tag or a commit.
            version: N for the branch ``vN``.
            trust_remote_code: as for ``get_kernel``.
            user_agent: as for ``get_kernel``.
        """
        self.layer_name = layer_name
        source = HubSource(
            repo_id=repo_id,
            revision=revision,
            version=version,
            trust=trust_of(trust_remote_code),
            user_agent=user_agent,
        )
        super().__init__(source, layer_name)


class LocalLayerRepository(KernelPart[LocalSource]):
    """A layer of a kernel in a folder."""

    def __init__(self, repo_path: Path | str, *, layer_name: str) -> None:
        """Name a layer.

        Args:
            repo_path: as for ``get_local_kernel``.
            layer_name: the name of a class in the kernel's ``layers``.
        """
        self.layer_name = layer_name
        super().__init__(LocalSource(path=repo_path), layer_name)

    def __str__(self) -> str:
        return f"{self._source} (layer `{self._name}`)"


class LockedLayerRepository(_Locked):
    """A layer of a kernel on the Hub, at the commit that a lock file gives."""

    def __init__(
        self,
        repo_id: str,
        *,
        lockfile: Path | None = None,
        layer_name: str,
        trust_remote_code: bool | Iterable[str] = False,
    ) -> None:
        """Name a layer.

        Args:
            repo_id: a repository that the lock file names.
            lockfile: its path; by default the one that the calling package was installed with.
            layer_name: the name of a class in the kernel's ``layers``.
            trust_remote_code: as for ``get_kernel``.
        """
        self.layer_name = layer_name
        source = LockedSource(
            repo_id=repo_id,
            lockfile=lockfile,
            trust=trust_of(trust_remote_code),
        )
        super().__init__(source, layer_name)


class FuncRepository(_Function[HubSource], _OnHub):
    """A function of a kernel on the Hub. Prefer ``LayerRepository``."""

    def __init__(
        self,
        repo_id: str,
        *,
        func_name: str,
        revision: str | None = None,
        version: int | None = None,
        trust_remote_code: bool | Iterable[str] = False,
    ) -> None:
        """Name a function. Exactly one of ``revision`` and ``version`` has to be given."""
        self.func_name = func_name
        source = HubSource(
            repo_id=repo_id,
            revision=revision,
            version=version,
            trust=trust_of(trust_remote_code),
        )
        super().__init__(source, func_name)


class LocalFuncRepository(_Function[LocalSource]):
    """A function of a kernel in a folder. Prefer ``LocalLayerRepository``."""

    def __init__(self, repo_path: Path | str, *, func_name: str) -> None:
        """Name a function."""
        self.func_name = func_name
        super().__init__(LocalSource(path=repo_path), func_name)

    def __str__(self) -> str:
        return f"{self._source} (function `{self._name}`)"


class LockedFuncRepository(_Function[LockedSource], _Locked):
    """A function of a kernel, at the commit that a lock file gives. Prefer a locked layer."""

    def __init__(
        self,
        repo_id: str,
        *,
        lockfile: Path | None = None,
        func_name: str,
        trust_remote_code: bool | Iterable[str] = False,
    ) -> None:
        """Name a function."""
        self.func_name = func_name
        source = LockedSource(
            repo_id=repo_id,
            lockfile=lockfile,
            trust=trust_of(trust_remote_code),
        )
        super().__init__(source, func_name)
