"""Write a bundle as a wheel that pip installs without a network. Same bundle, same bytes.

The bytes also depend on zlib, which compresses them.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name, is_normalized_name
from packaging.version import InvalidVersion, Version

from kernelmill import __version__
from kernelmill.runtime.bundles import PACKAGE
from kernelmill.runtime.errors import BundleError
from kernelmill.runtime.export_folder import copy_checked, writable
from kernelmill.runtime.load import variant_of
from kernelmill.spec.backend import Backend
from kernelmill.spec.dependencies import PYTHON_DEPENDENCIES
from kernelmill.spec.variant import ArchVariant, Variant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelmill.runtime.export import Contents

_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip archive can say."""
_MODE: Final = 0o100644 << 16
_UNIX: Final = 3
_CPYTHON: Final = re.compile(r"\.cpython-(?P<digits>3[0-9]+)(?P<flags>t?)-[^/]*\.so$")
_PLATFORMS: Final = {
    ("linux", "x86_64"): "linux_x86_64",
    ("linux", "aarch64"): "linux_aarch64",
    ("darwin", "aarch64"): "macosx_11_0_arm64",
    ("darwin", "x86_64"): "macosx_10_15_x86_64",
    ("windows", "x86_64"): "win_amd64",
    ("windows", "aarch64"): "win_arm64",
}
"""What pip accepts on each system. No ``manylinux``: a kernel may need libraries that no such tag
promises, PyTorch's among them, and only reading all of them would tell."""
_METAL_MACOS: Final = "macosx_26_0_arm64"


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelName:
    """What a wheel is called, and where pip installs it."""

    distribution: str
    """Normalised, such as ``kernels-bundle-app``."""
    version: str
    """With the build it is for: ``1.2+torch213.cxx11.cu128``."""
    tag: str
    """Such as ``py3-none-linux_x86_64``."""

    @property
    def file_name(self) -> str:
        """The name of the file."""
        return f"{self._stem}-{self.tag}.whl"

    @property
    def folder(self) -> str:
        """The folder of the bundle, from where pip installs packages."""
        return f"{PACKAGE}/{self.distribution.replace('-', '_')}"

    @property
    def metadata_folder(self) -> str:
        """The folder of the wheel's metadata."""
        return f"{self._stem}.dist-info"

    @property
    def _stem(self) -> str:
        return f"{self.distribution.replace('-', '_')}-{self.version}"


def name_wheel(
    project: str, release: str, target: Variant, paths: Iterable[str], variants: Iterable[str]
) -> WheelName:
    """Name the wheel of ``project`` for ``target``.

    Args:
        project: the name of the project whose kernels are bundled.
        release: its version.
        target: the build that the wheel is for.
        paths: the files of the bundle; compiled ones may say which Python they are for.
        variants: the builds in the bundle.

    Raises:
        BundleError: the name or the version cannot be those of a package, or the builds exclude
            each other.
    """
    distribution = canonicalize_name(f"kernels-bundle-{project}")
    if not is_normalized_name(distribution) or not distribution.isascii():
        raise BundleError(
            f"{project!r} cannot be part of a package's name",
            hint="give another: --name NAME",
        )
    try:
        version = Version(f"{Version(release).public}+{_label(target)}")
    except InvalidVersion as error:
        raise BundleError(
            f"{release!r} is not the version of a package", hint="give another: --release 1.0"
        ) from error
    tag = f"{_python_tag(paths)}-{_platform_tag(variants)}"
    return WheelName(distribution=distribution, version=str(version), tag=tag)


def _label(target: Variant) -> str:
    """Write a variant as the local part of a version; the platform is in the tag."""
    parts = (target.framework, target.compute) if isinstance(target, ArchVariant) else (target,)
    return "-".join(map(str, parts)).replace("-", ".")


def _python_tag(paths: Iterable[str]) -> str:
    """Return the Python and ABI tags: kernels use the limited API, unless a file's name says no."""
    found = sorted(
        {(match["digits"], match["flags"]) for it in paths if (match := _CPYTHON.search(it))}
    )
    if len(found) > 1:
        pythons = ", ".join(f"cp{digits}{flags}" for digits, flags in found)
        raise BundleError(
            f"the builds are for several Pythons: {pythons}", hint="export them one at a time"
        )
    return "".join(f"cp{digits}-cp{digits}{flags}" for digits, flags in found) or "py3-none"


def _platform_tag(variants: Iterable[str]) -> str:
    known = map(variant_of, variants)
    builds = [it for it in known if isinstance(it, ArchVariant)]
    tags = {
        _METAL_MACOS
        if it.compute.backend is Backend.METAL and it.os == "darwin"
        else _PLATFORMS[it.os, it.cpu]
        for it in builds
    }
    if len({(it.os, it.cpu) for it in builds}) > 1:
        raise BundleError(
            f"the builds are for several systems: {', '.join(sorted(tags))}",
            hint="export them one at a time: --variant NAME",
        )
    return max(tags, default="any")


def write_wheel(
    contents: Contents,
    name: WheelName,
    out: Path,
    *,
    requires: Iterable[str] = (),
    is_forced: bool = False,
) -> Path:
    """Write the wheel into the folder ``out`` and return its path.

    Args:
        contents: the bundle.
        name: what to call it.
        out: the folder; made if it is missing.
        requires: packages that the kernels need.
        is_forced: replace a wheel of that name.

    Raises:
        BundleError: there is such a wheel already.
        DigestMismatch: a file changed while it was copied.
        CacheUnusable: it cannot be written.
    """
    path = out / name.file_name
    ensure_free(path, is_forced=is_forced)
    with writable(path):
        out.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=out, prefix=f".{name.distribution}.")
        try:
            os.fchmod(descriptor, 0o644)
            with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w") as archive:
                _Archive(archive).write_all(contents, name, requires)
            Path(temporary).replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(temporary).unlink()
            raise
    return path


def ensure_free(path: Path, *, is_forced: bool) -> None:
    """Stop here unless a file may be written to ``path``."""
    if path.exists() and not is_forced:
        raise BundleError("is there already", where=str(path), hint="replace it with --force")


class _Archive:
    """A wheel that is being written, with the lines of its RECORD."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.record: list[str] = []

    def write_all(self, contents: Contents, name: WheelName, requires: Iterable[str]) -> None:
        texts = {f"{name.folder}/{path}": text for path, text in contents.texts.items()}
        metadata = {"METADATA": metadata_text(name, contents, requires), "WHEEL": wheel_text(name)}
        for path, source in contents.sources.items():
            self._copy(f"{name.folder}/{path}", source, contents.bundle.files[path])
        for path, text in sorted(texts.items()):
            self._write(path, text)
        for path, text in sorted(metadata.items()):
            self._write(f"{name.metadata_folder}/{path}", text)
        record = f"{name.metadata_folder}/RECORD"
        lines = [*self.record, f"{record},,"]
        self.archive.writestr(_entry(record, 0), "".join(f"{line}\n" for line in lines))

    def _copy(self, path: str, source: Path, sha256: str) -> None:
        with self.archive.open(_entry(path, source.stat().st_size), "w") as target:
            size_bytes = copy_checked(source, target, sha256)
        self._note(path, bytes.fromhex(sha256), size_bytes)

    def _write(self, path: str, text: str) -> None:
        content = text.encode()
        self.archive.writestr(_entry(path, len(content)), content)
        self._note(path, hashlib.sha256(content).digest(), len(content))

    def _note(self, path: str, digest: bytes, size_bytes: int) -> None:
        quoted = f'"{path.replace(chr(34), chr(34) * 2)}"' if {",", '"'} & set(path) else path
        shown = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        self.record.append(f"{quoted},sha256={shown},{size_bytes}")


def _entry(path: str, size_bytes: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(path, _TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system, entry.external_attr = _UNIX, _MODE
    entry.file_size = size_bytes  # so that zipfile knows when it needs 64 bits
    return entry


def metadata_text(name: WheelName, contents: Contents, requires: Iterable[str]) -> str:
    """Return the text of METADATA."""
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name.distribution}",
        f"Version: {name.version}",
        "Summary: Compute kernels for PyTorch, loaded by the package kernels without a network",
        *(f"Requires-Dist: {it}" for it in sorted(set(requires))),
        "",
        *(f"{it.repo_id} at {it.commit}" for it in contents.bundle.kernels),
        "",
    ]
    return "\n".join(lines)


def wheel_text(name: WheelName) -> str:
    """Return the text of WHEEL."""
    is_pure = "true" if name.tag.endswith("-any") else "false"
    return (
        "Wheel-Version: 1.0\n"
        f"Generator: kernelmill {__version__}\n"
        f"Root-Is-Purelib: {is_pure}\n"
        f"Tag: {name.tag}\n"
    )


def required_packages(names: Iterable[str]) -> tuple[str, ...]:
    """Return the packages to install for what kernels call ``names``."""
    packages: Mapping[str, str] = {it.name: it.package for it in PYTHON_DEPENDENCIES}
    return tuple(sorted({packages[name] for name in names if name in packages}))
