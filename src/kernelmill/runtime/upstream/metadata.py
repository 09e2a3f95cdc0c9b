"""What a build says about itself, and what its author asked for, as ``kernels._rust`` has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.runtime.upstream.backends import Backend, BackendInfo
from kernelmill.runtime.upstream.dependencies import KernelDependency
from kernelmill.runtime.upstream.digests import Digest
from kernelmill.runtime.upstream.names import KernelName, Version
from kernelmill.runtime.upstream.text import spell_fields
from kernelmill.spec import manifest as manifest_format
from kernelmill.spec import metadata as spec
from kernelmill.spec.errors import ManifestError, MetadataError

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True, repr=False)
class GitStatus:
    """The state of a git working tree."""

    commit: str
    dirty: bool

    @staticmethod
    def from_spec(state: spec.SourceState) -> GitStatus | None:
        """Return the same state in this shape; None outside a repository."""
        if state.commit is None or state.is_dirty is None:
            return None
        return GitStatus(state.commit, state.is_dirty)

    def __repr__(self) -> str:
        return spell_fields("GitStatus", commit=self.commit, dirty=self.dirty)


@dataclass(frozen=True, slots=True, repr=False)
class KernelBuilderVersion:
    """The builder that made a build."""

    version: str
    git: GitStatus | None

    def __repr__(self) -> str:
        return spell_fields("KernelBuilderVersion", version=self.version, git=self.git)


@dataclass(frozen=True, slots=True, repr=False)
class Provenance:
    """What a build was made from."""

    kernel_builder: KernelBuilderVersion
    kernel: GitStatus | None

    @staticmethod
    def from_spec(provenance: spec.Provenance) -> Provenance:
        """Return the same provenance in this shape."""
        builder = provenance.kernel_builder
        return Provenance(
            KernelBuilderVersion(builder.version or "", GitStatus.from_spec(builder)),
            GitStatus.from_spec(provenance.kernel),
        )

    @property
    def dirty(self) -> bool:
        """Whether the builder or the kernel had changes that were not committed."""
        states = (self.kernel_builder.git, self.kernel)
        return any(state is not None and state.dirty for state in states)

    def __repr__(self) -> str:
        return spell_fields("Provenance", kernel_builder=self.kernel_builder, kernel=self.kernel)


@dataclass(frozen=True, slots=True, repr=False)
class Metadata:
    """What a build says about itself."""

    id: str
    name: KernelName
    version: int | None
    kernels_minver: Version | None
    license: str | None
    upstream: str | None
    source: str | None
    python_depends: list[str]
    kernel_depends: list[KernelDependency]
    backend: BackendInfo
    digest: Digest | None
    provenance: Provenance | None

    @staticmethod
    def from_spec(metadata: spec.Metadata) -> Metadata:
        """Return the same metadata in this shape."""
        archs = None if metadata.archs is None else list(metadata.archs)
        minver = metadata.kernels_minver
        return Metadata(
            id=metadata.id,
            name=KernelName(metadata.name),
            version=metadata.version,
            kernels_minver=None if minver is None else Version.from_str(minver),
            license=metadata.license,
            upstream=metadata.upstream,
            source=metadata.source,
            python_depends=list(metadata.python_depends),
            kernel_depends=list(map(KernelDependency.from_spec, metadata.kernel_depends)),
            backend=BackendInfo(Backend(metadata.backend), archs),
            digest=None if metadata.digest is None else Digest.from_spec(metadata.digest),
            provenance=None
            if metadata.provenance is None
            else Provenance.from_spec(metadata.provenance),
        )

    @staticmethod
    def from_bytes(bytes: bytes) -> Metadata:  # noqa: A002 - the original's name
        """Read the content of ``metadata.json``.

        Raises:
            MetadataError: it is something else; a ``ValueError``.
        """
        return _parse(memoryview(bytes).tobytes(), "Cannot parse metadata", "metadata.json")

    @staticmethod
    def read_from_file(metadata_path: os.PathLike[str] | str) -> Metadata:
        """Read a file.

        Raises:
            MetadataError: it is no ``metadata.json``; a ``ValueError``.
            OSError: it cannot be read.
        """
        path = Path(metadata_path)
        try:
            content = path.read_bytes()
        except OSError as error:
            problem = f'Failed to open `"{path}"`: {error.strerror} (os error {error.errno})'
            raise type(error)(problem) from error
        return _parse(content, f'Cannot parse metadata from `"{path}"`', str(path))

    def __hash__(self) -> int:
        return hash((self.id, self.name, self.version))

    def __repr__(self) -> str:
        return spell_fields(
            "Metadata", **{name: getattr(self, name) for name in self.__dataclass_fields__}
        )


def _parse(content: bytes, complaint: str, where: str) -> Metadata:
    try:
        return Metadata.from_spec(spec.parse(content.decode("utf-8"), where=where))
    except UnicodeDecodeError as error:
        raise MetadataError(f"{complaint}: not UTF-8 text") from error
    except MetadataError as error:
        place = error.where.removeprefix(where).strip()
        problem = ": ".join(filter(None, (complaint, place, error.problem)))
        raise MetadataError(problem, hint=error.hint) from error


@dataclass(frozen=True, slots=True, repr=False)
class General:
    """The ``[general]`` table of ``build.toml``."""

    backends: list[Backend]

    def __repr__(self) -> str:
        return spell_fields("General", backends=self.backends)


@dataclass(frozen=True, slots=True)
class Build:
    """What a kernel's ``build.toml`` says."""

    manifest: manifest_format.Manifest

    @staticmethod
    def open(kernel_dir: os.PathLike[str] | str) -> Build:
        """Read ``build.toml`` in a folder.

        Raises:
            ManifestError: it is missing or wrong; a ``ValueError``.
        """
        path = Path(kernel_dir) / "build.toml"
        complaint = f"Cannot parse build configuration in `{kernel_dir}`"
        try:
            return Build(manifest_format.parse(path.read_text("utf-8"), where=str(path)))
        except OSError as error:
            problem = f"{complaint}: Cannot open {path} for reading: {error.strerror}"
            raise ManifestError(problem) from error
        except ManifestError as error:
            raise ManifestError(f"{complaint}: {error}") from error

    @property
    def general(self) -> General:
        """The ``[general]`` table."""
        return General([Backend(it) for it in self.manifest.general.backends])

    def all_kernel_depends(self, backend: Backend) -> list[KernelDependency]:
        """Return the kernels that builds for ``backend`` depend on."""
        general = self.manifest.general
        part = getattr(general, backend.value.value, None)
        own = () if part is None else getattr(part, "kernel_depends", ())
        return list(map(KernelDependency.from_spec, (*general.kernel_depends, *own)))
