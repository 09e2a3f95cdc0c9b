"""Which builds go into a bundle, and what the bundle's files are. Decides; writes nothing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.bundles import FILE_NAME
from kernelmill.runtime.bundles_format import Bundle, BundledKernel, dumps
from kernelmill.runtime.errors import BundleError
from kernelmill.runtime.load import read_metadata, variant_of
from kernelmill.spec import lockfile as lock_format
from kernelmill.spec.backend import Backend
from kernelmill.spec.digest import UNCOVERED_FILES, is_covered
from kernelmill.spec.errors import NoVariant
from kernelmill.spec.host import Host
from kernelmill.spec.resolve import METAL_MIN_MACOS, resolve
from kernelmill.spec.variant import ArchVariant, NoarchVariant, Variant
from kernelmill.spec.version import parse_release

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from kernelmill.spec.lockfile import LockedKernel, Lockfile
    from kernelmill.spec.metadata import Metadata

ANY_PYTHON: Final = (3, 15)
"""For a wheel it does not matter: its builds are chosen again where it is installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedKernel:
    """A locked kernel with the builds of it that a bundle gets."""

    kernel: LockedKernel
    builds: Mapping[str, tuple[Path, Metadata]]
    """Variant -> its folder, fetched and checked, and what it says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The files of a bundle: where each comes from, and what it must hash to."""

    bundle: Bundle
    sources: Mapping[str, Path]
    """Path in the bundle -> the file to copy."""
    texts: Mapping[str, str]
    """Path in the bundle -> what to write: the lock file, and the bundle's own list."""


def read_builds(kernel: LockedKernel, folders: Iterable[Path]) -> ExportedKernel:
    """Read what the fetched builds of a kernel say of themselves."""
    name = kernel.repo_id.name
    builds = {it.name: (it, read_metadata(it, name=name)) for it in folders}
    return ExportedKernel(kernel=kernel, builds=builds)


def ensure_closed(kernels: Sequence[ExportedKernel], lockfile: Lockfile) -> None:
    """Stop here unless every kernel that a build loads is locked, too.

    Raises:
        BundleError: one is not; names who loads it.
    """
    for each in kernels:
        for variant, (_, metadata) in each.builds.items():
            for it in metadata.kernel_depends:
                if lockfile.find(it.repo_id, version=it.version, revision=it.revision) is None:
                    wish = it.revision if it.version is None else f"version {it.version}"
                    raise BundleError(
                        f"{variant} of '{each.kernel.repo_id}' loads '{it.repo_id}' ({wish}), "
                        "which is not locked",
                        hint="run `kernels lock` again",
                    )


def gather(kernels: Sequence[ExportedKernel], lock_text: str) -> Contents:
    """Return the files of the bundle that holds ``kernels``, every one of them hashed."""
    sources, bundled = {}, []
    for each in kernels:
        entry = _bundled(each)
        bundled.append(entry)
        for variant, (folder, _) in each.builds.items():
            for name in build_files(folder):
                sources[f"{entry.folder}/{variant}/{name}"] = folder / name
    texts = {lock_format.FILE_NAME: lock_text}
    hashes = {path: hash_file(source) for path, source in sources.items()}
    hashes |= {path: hashlib.sha256(it.encode()).hexdigest() for path, it in texts.items()}
    bundle = Bundle(kernels=tuple(bundled), files=hashes)
    return Contents(
        bundle=bundle,
        sources=dict(sorted(sources.items())),
        texts={**texts, FILE_NAME: dumps(bundle)},
    )


def _bundled(each: ExportedKernel) -> BundledKernel:
    """Return a kernel's entry. The old lock format names no version: its builds do."""
    kernel, version, revision = each.kernel, each.kernel.version, each.kernel.revision
    if kernel.dependency is None:
        versions = {metadata.version for _, metadata in each.builds.values()}
        version = versions.pop() if len(versions) == 1 else None
        revision = kernel.commit if version is None else None
    return BundledKernel(
        repo_id=kernel.repo_id, version=version, revision=revision, commit=kernel.commit
    )


def build_files(folder: Path) -> list[str]:
    """Return the files of a build, sorted; bytecode is none of them."""
    paths = (it for it in folder.rglob("*") if it.is_file())
    names = sorted(it.relative_to(folder).as_posix() for it in paths)
    return [name for name in names if is_covered(name) or name in UNCOVERED_FILES]


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def choose_for(target: Variant, names: Sequence[str]) -> str | None:
    """Return the build that runs wherever ``target`` does: itself, or else the best; or None.

    ``torch-cuda`` runs beside ``torch213-cxx11-cu128-x86_64-linux``; the other way round, a build
    for one release of PyTorch does not run wherever a stable-ABI or a pure Python build does.
    """
    if str(target) in names:
        return str(target)
    if isinstance(target, NoarchVariant):
        return "torch-universal" if "torch-universal" in names else None
    fitting = [
        name for name in names if target.framework.kind == "torch" or not _needs_one_torch(name)
    ]
    chosen = resolve(fitting, host_of(target)).chosen
    return None if chosen is None else str(chosen)


def _needs_one_torch(name: str) -> bool:
    variant = variant_of(name)
    return isinstance(variant, ArchVariant) and variant.framework.kind == "torch"


def host_of(target: ArchVariant) -> Host:
    """Return the least machine that runs ``target``."""
    framework, compute = target.framework, target.compute
    has_torch = framework.kind != "tvm-ffi"
    version = ".".join(map(str, framework.version))
    return Host(
        cpu=target.cpu,
        os=target.os,
        backend=compute.backend,
        backend_version=compute.version,
        torch=parse_release(version, what="PyTorch") if has_torch else None,
        cxx11_abi=framework.cxx11_abi,
        tvm_ffi=None if has_torch else framework.version,
        python=ANY_PYTHON,
        macos=METAL_MIN_MACOS if compute.backend is Backend.METAL else None,
    )


def most_specific(variants: Iterable[str]) -> Variant:
    """Return the build that asks most of a machine, after which a bundle can be called."""
    known = [it for it in map(variant_of, variants) if it is not None]
    if not known:
        raise NoVariant("there is nothing to bundle", hint="lock a kernel first: kernels lock")
    return max(known, key=_demand)


def _demand(it: Variant) -> tuple[int, tuple[int, int], tuple[int, int], str]:
    if isinstance(it, NoarchVariant):
        return int(it.name != "universal"), (0, 0), (0, 0), str(it)
    rank = {"torch-stable-abi": 2, "tvm-ffi": 3, "torch": 4}[it.framework.kind]
    return rank, it.framework.version, it.compute.version or (0, 0), str(it)
