"""Load one variant's folder into this process: check it, import it, remember it."""

from __future__ import annotations

import logging
import os
import threading
from collections import defaultdict
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelmill.runtime import modules
from kernelmill.runtime.dependencies import offering
from kernelmill.runtime.errors import KernelClash, LoadFailed, NoModule
from kernelmill.runtime.files import TooLarge, read_text
from kernelmill.runtime.integrity import Contents, check_integrity, read_digest
from kernelmill.runtime.loaded import LOADED, LoadedKernel, RepoInfo, get_loaded_kernels
from kernelmill.runtime.mapped import read_runtimes, second_runtimes
from kernelmill.runtime.signatures.requirement import ensure_signed
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import DigestMismatch, InvalidVariant, MetadataError
from kernelmill.spec.variant import Variant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import ModuleType

    from kernelmill.spec.metadata import Metadata

__all__ = ["LoadedKernel", "RepoInfo", "get_loaded_kernels", "load_variant", "read_metadata"]

log = logging.getLogger(__name__)

MAX_METADATA_BYTES: Final = 16 * 1024 * 1024
"""Room for the digests of a hundred thousand files."""


# One lock per kernel, re-entrant: a kernel that is being imported may ask for itself.
_locks: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
_locks_guard = threading.Lock()
_importing: dict[str, int] = {}
"""The kernels that are being imported, and by which thread."""


def _start_over() -> None:
    """In a child that was forked: there are no other threads, and what they began has no end."""
    global _locks_guard  # noqa: PLW0603 - a lock cannot be reset
    _locks_guard = threading.Lock()
    _locks.clear()
    for module_id, thread in list(_importing.items()):
        if thread != threading.get_ident():
            modules.forget(module_id)
            del _importing[module_id]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_over)


def load_variant(
    folder: Path,
    *,
    root: Path,
    metadata: Metadata | None = None,
    repo_info: RepoInfo | None = None,
    dependencies: Mapping[str, ModuleType] = MappingProxyType({}),
) -> ModuleType:
    """Return the module of the variant in ``folder``; the same one on every call.

    Args:
        folder: holds ``metadata.json`` and the kernel's files.
        root: the folder that links may not leave.
        metadata: what the build was found to say of itself; None to read it.
        repo_info: where it came from.
        dependencies: the loaded kernels that it may ask for: repository id -> module.

    Raises:
        MetadataError: there is no usable ``metadata.json``.
        NotSigned: it comes from a Hub, and the environment asks for a signature that it lacks.
        DigestMismatch: a file is missing, was changed or was added.
        KernelClash: its id belongs to another module.
        LoadFailed: its compiled part does not fit this process.
        NoModule: it has no ``__init__.py``.
    """
    folder = folder.resolve()
    known = LOADED.get(folder)
    if known:
        metadata = known.metadata
    elif metadata is None:
        name = repo_info.repo_id.rpartition("/")[2] if repo_info else folder.name
        metadata = read_metadata(folder, name=name)
    is_signed = False
    if repo_info:  # folders that the caller names are the caller's own
        is_signed = ensure_signed(folder, metadata=metadata, root=root)
    if known:
        return known.module
    with _lock_of(metadata.id):
        if folder not in LOADED:
            ensure_integrity(folder, metadata, root=root, is_thorough=is_signed)
            module = _twin_of(folder, metadata)
            if module is None:
                with offering(dependencies), _watching_runtimes(metadata):
                    module = _import(folder, metadata, repo_info)
            LOADED[folder] = LoadedKernel(metadata=metadata, module=module, repo_info=repo_info)
        return LOADED[folder].module


def read_metadata(folder: Path, *, name: str = "kernel") -> Metadata:
    """Return what a variant says of itself.

    Args:
        folder: the variant.
        name: the kernel's name, for builds so old that they do not give it.
    """
    path = folder / "metadata.json"
    try:
        text = read_text(path, limit_bytes=MAX_METADATA_BYTES)
    except TooLarge as error:
        raise MetadataError(str(error), where=str(path), hint="rebuild the kernel") from error
    except FileNotFoundError as error:
        raise MetadataError(
            "there is no metadata.json", where=str(folder), hint="rebuild the kernel"
        ) from error
    except OSError as error:
        raise MetadataError(
            f"cannot be read: {error.strerror}",
            where=str(path),
            hint="make it a file that can be read, or fetch or build the kernel again",
        ) from error
    except UnicodeDecodeError as error:
        raise MetadataError("not UTF-8 text", where=str(path), hint="rebuild the kernel") from error
    metadata = metadata_format.parse(
        text, where=str(path), variant=variant_of(folder.name), name=name
    )
    if not metadata.id.isidentifier():
        raise MetadataError(
            f"{metadata.id!r} cannot be the name of a module",
            where=f"{path} id",
            hint="rebuild the kernel",
        )
    if metadata.assumed:
        log.info("%s: %s", folder, metadata_format.assumed_note(metadata))
    return metadata


def variant_of(name: str) -> Variant | None:
    """Return the variant that a folder's name stands for; None for another kind of name."""
    try:
        return parse_variant(name)
    except InvalidVariant:
        return None


def ensure_integrity(
    folder: Path, metadata: Metadata, *, root: Path, is_thorough: bool = False
) -> None:
    """Stop here unless the folder holds what its metadata lists.

    ``is_thorough`` is for metadata that was signed: what the cache notes of its files was not.
    """
    if metadata.digest is None:
        log.warning(
            "kernel '%s' in %s has no digest: its files cannot be checked", metadata.name, folder
        )
    findings = check_integrity(folder, metadata.digest, root=root, is_thorough=is_thorough)
    if findings:
        raise DigestMismatch(
            f"kernel does not match the expected digest: {'; '.join(findings)}",
            where=str(folder),
            hint="somebody changed these files: remove the folder, and fetch or build it again",
        )


def _lock_of(module_id: str) -> threading.RLock:
    with _locks_guard:
        return _locks[module_id]


def _twin_of(folder: Path, metadata: Metadata) -> ModuleType | None:
    """Return the module of the same build that was loaded from another folder.

    Loading it twice would register its operators twice, which PyTorch answers with an abort.
    """
    for path, kernel in list(LOADED.items()):
        if kernel.metadata.id != metadata.id:
            continue
        if read_digest(path).files == read_digest(folder).files:
            log.info("%s is the build that was loaded from %s", folder, path)
            return kernel.module
        raise KernelClash(
            f"another build with the id '{metadata.id}' is loaded, from {path}",
            where=str(folder),
            hint="load one of them only, or rebuild one, so that it gets an id of its own",
        )
    return None


def _import(folder: Path, metadata: Metadata, repo_info: RepoInfo | None) -> ModuleType:
    contents = Contents(folder=folder, digest=metadata.digest, package=metadata.python_name)
    _importing[metadata.id] = threading.get_ident()
    try:
        return modules.import_kernel(metadata.id, _module_file(folder, metadata), contents)
    except (ImportError, OSError) as error:
        from kernelmill.runtime.dlopen import read_complaint  # noqa: PLC0415 - for failures alone

        complaint = read_complaint(str(error))
        if complaint is None or isinstance(error, KernelClash):
            _add_origin(error, folder, metadata, repo_info)
            raise
        problem, hint = complaint
        place = getattr(error, "path", None) or str(folder)
        raise LoadFailed(
            f"cannot load kernel '{metadata.name}': it {problem}; built for {folder.name}, "
            f"you have {_environment()}",
            where=place,
            hint=hint,
        ) from error
    except BaseException as error:
        _add_origin(error, folder, metadata, repo_info)
        raise
    finally:
        _importing.pop(metadata.id, None)


@contextmanager
def _watching_runtimes(metadata: Metadata) -> Iterator[None]:
    """Warn when an import brings a second copy of a GPU runtime into the process."""
    if metadata.backend not in {Backend.ROCM, Backend.CUDA}:
        yield
        return
    before = read_runtimes()
    yield
    for clash in second_runtimes(before, read_runtimes()):
        log.warning(
            "kernel '%s' brought a second GPU runtime into this process, %s: its calls may fail. "
            "Its author has to build it without a RUNPATH to the runtime",
            metadata.name,
            clash,
        )


def _add_origin(
    error: BaseException, folder: Path, metadata: Metadata, repo_info: RepoInfo | None
) -> None:
    origin = f" ({repo_info.repo_id}, revision: {repo_info.revision})" if repo_info else ""
    error.add_note(f"while importing kernel '{metadata.name}', variant '{folder.name}'{origin}")


def _module_file(folder: Path, metadata: Metadata) -> Path:
    for path in (folder / "__init__.py", folder / metadata.python_name / "__init__.py"):
        if path.is_file():
            return path
    packages = sorted(folder.glob("*/__init__.py"))
    if "name" in metadata.assumed and len(packages) == 1:
        return packages[0]
    raise NoModule(
        f"No kernel module found at: `{folder}`", hint="its author has to build it again"
    )


def _environment() -> str:
    from kernelmill.runtime.probe import probe_host  # noqa: PLC0415 - only a failure needs torch

    host = probe_host()
    version = ".".join(map(str, host.backend_version or ()))
    torch = f"torch {host.torch.text}" if host.torch else "no torch"
    return f"{torch}, {host.backend} {version}".rstrip() + f", {host.cpu}-{host.os}"
