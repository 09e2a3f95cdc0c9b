"""``metadata.json``: what a build says about itself.

The format is the one of Hugging Face's ``kernels``, plus one key of ours, ``kernelmill``, which
other readers ignore.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.spec.backend import Backend
from kernelmill.spec.dependencies import KernelDependency, kernel_dependency
from kernelmill.spec.digest import Algorithm, Digest
from kernelmill.spec.errors import InputError, InvalidName, KernelError, MetadataError
from kernelmill.spec.names import KernelName
from kernelmill.spec.reader import (
    Faults,
    Place,
    Table,
    boolean,
    choice,
    each,
    natural,
    or_null,
    shown,
    table,
    text,
    unique_keys,
)
from kernelmill.spec.values import dataclass
from kernelmill.spec.variant import ArchVariant, Variant

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BuildRecord",
    "KernelDependency",
    "Metadata",
    "Provenance",
    "SourceState",
    "assumed_note",
    "dumps",
    "parse",
    "with_digest",
]

_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_THREE_NUMBERS: Final = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}")
BuildMode = Literal["develop", "release"]
Isolation = Literal["sandbox", "none"]
_ALGORITHMS: Final[tuple[Algorithm, ...]] = ("sha256", "sha512")
_MODES: Final[tuple[BuildMode, ...]] = ("develop", "release")
_ISOLATIONS: Final[tuple[Isolation, ...]] = ("sandbox", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """Which sources something was built from."""

    version: str | None = None
    commit: str | None = None
    """40 or 64 hex digits; given together with ``is_dirty``."""
    is_dirty: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The state of the builder and of the kernel's sources."""

    kernel_builder: SourceState
    """``version`` is required here."""
    kernel: SourceState
    """``version`` is not written here; all empty outside a git repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecord:
    """How kernelmill made the build."""

    mode: BuildMode
    is_cross: bool
    compilers: Mapping[str, str] = field(default_factory=dict)
    """Role, such as ``hip`` -> the compiler's own version line."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name of an input -> its sha256."""
    isolation: Isolation | None = None
    """What kept the rest of the machine away from a release build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a build says about itself."""

    name: str
    id: str
    """Unique per build: the module's name in ``sys.modules`` and the namespace of its ops."""
    version: int
    kernels_minver: str | None = None
    """Three numbers."""
    license: str | None = None
    """SPDX expression. Only old builds lack it, and upstream's reader refuses those."""
    upstream: str | None = None
    source: str | None = None
    python_depends: tuple[str, ...] = ()
    kernel_depends: tuple[KernelDependency, ...] = ()
    backend: Backend
    archs: tuple[str, ...] | None = None
    digest: Digest | None = None
    provenance: Provenance | None = None
    build: BuildRecord | None = None
    assumed: tuple[str, ...] = field(default=(), compare=False)
    """Keys that the file lacks and that were taken from the variant: an old build."""

    @property
    def python_name(self) -> str:
        """The name of the kernel's Python package."""
        return KernelName(value=self.name).python_name


def parse(
    content: str, *, where: str, variant: Variant | None = None, name: str = "kernel"
) -> Metadata:
    """Read ``metadata.json``.

    Args:
        content: the file's text.
        where: its name, for errors.
        variant: the variant that holds the file. When given, keys that old builders did not
            write get defaults, and ``assumed`` lists them.
        name: the kernel's name to assume, usually the repository's.

    Raises:
        MetadataError: not JSON, a key is missing or has the wrong type; names file and key.
    """
    try:
        raw = json.loads(content, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise MetadataError(
            f"not valid JSON: {error}", where=where, hint="build or download the kernel again"
        ) from error
    faults = Faults(file=where, lines={})
    try:
        root = table(raw, Place(path=(), faults=faults))
        assumed = _assume(raw, content, where, variant, name) if variant else {}
        metadata = _read(Table({**assumed, **raw}, root.place), tuple(assumed))
    except InputError as error:
        raise _metadata_error(error) from error
    if faults.found:
        raise _metadata_error(faults.found[0])
    return metadata


def assumed_note(metadata: Metadata) -> str:
    """Say which keys an old build lacks, for those who load it; empty when it has them all."""
    if not metadata.assumed:
        return ""
    return f"an old build, whose metadata lacks {', '.join(metadata.assumed)}: defaults are used"


def _metadata_error(error: KernelError) -> MetadataError:
    return MetadataError(error.problem, where=error.where, hint=error.hint)


def _assume(
    raw: Mapping[str, object], content: str, where: str, variant: Variant, name: str
) -> dict[str, object]:
    """Return the keys that ``raw`` lacks, derived from where the file lies."""
    backend = _backend_of(variant)
    unique = hashlib.sha256(f"{where}\0{variant}\0{content}".encode()).hexdigest()[:10]
    words = re.findall("[a-z0-9]+", name.lower())
    kernel_name = KernelName(value="-".join(["kernel"] * (not words) + words))
    defaults: dict[str, object] = {
        "name": kernel_name.value,
        "id": f"_{kernel_name.python_name}_{backend}_{unique}",
        "version": 0,
        "license": None,
        "python-depends": [],
        "backend": {"type": backend.value},
    }
    return {key: value for key, value in defaults.items() if key not in raw}


def _backend_of(variant: Variant) -> Backend:
    if isinstance(variant, ArchVariant):
        return variant.compute.backend
    names = {"npu": Backend.CANN, "universal": Backend.CPU}
    try:
        return names.get(variant.name) or Backend(variant.name)
    except ValueError:
        return Backend.CPU


def _read(root: Table, assumed: tuple[str, ...]) -> Metadata:
    backend = root.required("backend", table, stand_in=Table({}, root.place))
    return Metadata(
        name=root.required("name", _kernel_name, stand_in=""),
        id=root.required("id", text, stand_in=""),
        version=root.required("version", natural, stand_in=0),
        kernels_minver=root.optional("kernels-minver", or_null(_three_numbers), default=None),
        license=root.optional("license", or_null(text), default=None),
        upstream=root.optional("upstream", or_null(text), default=None),
        source=root.optional("source", or_null(text), default=None),
        python_depends=root.required("python-depends", each(text), stand_in=()),
        kernel_depends=root.optional("kernel-depends", each(kernel_dependency), default=()),
        backend=backend.required("type", choice("backend", tuple(Backend)), stand_in=Backend.CPU),
        archs=backend.optional("archs", or_null(each(text)), default=None),
        digest=root.optional("digest", or_null(_digest), default=None),
        provenance=root.optional("provenance", or_null(_provenance), default=None),
        build=root.optional("kernelmill", or_null(_build_record), default=None),
        assumed=assumed,
    )


def _kernel_name(value: object, place: Place) -> str:
    name = text(value, place)
    # Names with "--" exist: they were legal before a Hub refused them.
    try:
        KernelName.parse(re.sub("-+", "-", name), where=str(place))
    except InvalidName as error:
        raise InvalidName(
            f"invalid kernel name {shown(name)}", where=error.where, hint=error.hint
        ) from None
    return name


def _three_numbers(value: object, place: Place) -> str:
    version = text(value, place)
    if not _THREE_NUMBERS.fullmatch(version):
        raise place.fail(f"{shown(version)} is not a version", "write three numbers: 0.14.0")
    return version


def _digest(value: object, place: Place) -> Digest:
    item = table(value, place)
    algorithm: Algorithm = item.required(
        "algorithm", choice("digest algorithm", _ALGORITHMS), stand_in="sha256"
    )
    return Digest(algorithm=algorithm, files=item.required("files", _strings, stand_in={}))


def _strings(value: object, place: Place) -> dict[str, str]:
    item = table(value, place)
    return {key: item.required(key, text, stand_in="") for key in sorted(item)}


def _provenance(value: object, place: Place) -> Provenance:
    item = table(value, place)
    nothing = SourceState()
    builder = item.required("kernel-builder", _builder_state, stand_in=nothing)
    kernel = item.optional("kernel", or_null(_source_state), default=None)
    return Provenance(kernel_builder=builder, kernel=kernel or nothing)


def _builder_state(value: object, place: Place) -> SourceState:
    version = table(value, place).required("version", text, stand_in="")
    return replace(_source_state(value, place), version=version)


def _source_state(value: object, place: Place) -> SourceState:
    item = table(value, place)
    key = "commit" if "commit" in item else "sha"  # the name that older builders wrote
    commit = item.optional(key, _commit, default=None)
    is_dirty = item.optional("dirty", boolean, default=None)
    if (commit is None) != (is_dirty is None):
        raise place.fail("commit and dirty must be given together")
    return SourceState(commit=commit, is_dirty=is_dirty)


def _commit(value: object, place: Place) -> str:
    commit = text(value, place).lower()
    if not _COMMIT.fullmatch(commit):
        raise place.fail(f"{commit!r} is not a git object id", "write 40 or 64 hex digits")
    return commit


def _build_record(value: object, place: Place) -> BuildRecord:
    item = table(value, place)
    return BuildRecord(
        mode=item.required("mode", choice("build mode", _MODES), stand_in="develop"),
        is_cross=item.required("cross", boolean, stand_in=False),
        compilers=item.optional("compilers", _strings, default={}),
        inputs=item.optional("inputs", _strings, default={}),
        isolation=item.optional(
            "isolation", or_null(choice("isolation", _ISOLATIONS)), default=None
        ),
    )


def dumps(metadata: Metadata) -> str:
    """Write ``metadata.json``: fixed order of keys, two spaces, one newline at the end."""
    backend = {"type": metadata.backend.value, "archs": metadata.archs}
    document = {
        "name": metadata.name,
        "id": metadata.id,
        "version": metadata.version,
        "kernels-minver": metadata.kernels_minver,
        "license": metadata.license,
        "upstream": metadata.upstream,
        "source": metadata.source,
        "python-depends": metadata.python_depends,
        "kernel-depends": [_dependency_json(it) for it in metadata.kernel_depends],
        "backend": _present(backend),
        "digest": metadata.digest and _digest_json(metadata.digest),
        "provenance": metadata.provenance and _provenance_json(metadata.provenance),
        "kernelmill": metadata.build and _build_json(metadata.build),
    }
    return json.dumps(_present(document), indent=2, ensure_ascii=False) + "\n"


def with_digest(content: str, digest: Digest) -> str:
    """Return the text of a ``metadata.json`` with another digest; what else is in it stays.

    Args:
        content: a text that ``parse`` has read.
        digest: the new one.
    """
    document = json.loads(content) | {"digest": _digest_json(digest)}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _present(document: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if value is not None}


def _dependency_json(dependency: KernelDependency) -> dict[str, object]:
    return _present(
        {
            "repo-id": str(dependency.repo_id),
            "version": dependency.version,
            "revision": dependency.revision,
        }
    )


def _digest_json(digest: Digest) -> dict[str, object]:
    return {"algorithm": digest.algorithm, "files": dict(sorted(digest.files.items()))}


def _provenance_json(provenance: Provenance) -> dict[str, object]:
    kernel = _source_json(replace(provenance.kernel, version=None))
    return _present(
        {"kernel-builder": _source_json(provenance.kernel_builder), "kernel": kernel or None}
    )


def _source_json(state: SourceState) -> dict[str, object]:
    return _present({"version": state.version, "commit": state.commit, "dirty": state.is_dirty})


def _build_json(build: BuildRecord) -> dict[str, object]:
    document = {
        "mode": build.mode,
        "isolation": build.isolation,
        "cross": build.is_cross,
        "compilers": dict(sorted(build.compilers.items())),
        "inputs": dict(sorted(build.inputs.items())),
    }
    return _present(document)
