"""Get the files that SDKs are made from: by pip, from a folder, or from this machine's compiler."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.format import SdkInput
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.builder.sdk.recipes import Wanted

    Note = Callable[[str], None]

_PYTHON: Final = "3.11"
"""Whose wheels are taken, on every machine: the same file is the same SDK."""
_PLATFORMS: Final = ("manylinux_2_28", "manylinux_2_27", "manylinux2014", "manylinux_2_17",
                     "manylinux2010", "manylinux_2_12", "manylinux_2_5", "manylinux1")  # fmt: skip
_SEPARATORS: Final = re.compile(r"[-_.]+")
_TIMEOUT_S: Final = 20
_MIB: Final = 1 << 20


def get_file(
    wanted: Wanted, *, platform: str, offline: Path | None, scratch: Path, note: Note, cxx: str
) -> tuple[Path, SdkInput]:
    """Return a file, and its description.

    Args:
        wanted: what.
        platform: ``x86_64-linux``.
        offline: the folder of files to use in place of an index.
        scratch: where to download to.
        note: called with a line for each step.
        cxx: this machine's C++ compiler, which knows where its libraries are.

    Raises:
        SdkError: it cannot be had, or is not the file that is known under its name.
        InputError: it is not in ``offline``.
    """
    if wanted.is_local:
        path = _local_library(wanted.name, cxx)
    elif offline is not None:
        path = _from_folder(wanted, offline, platform)
    else:
        path = _download(wanted, platform, scratch / wanted.name, note)
    found = SdkInput(
        name=wanted.name,
        version=wanted.version or path.name,
        file=path.name,
        sha256=_sha256(path),
    )
    _check(found, wanted, path, note)
    return path, found


def _check(found: SdkInput, wanted: Wanted, path: Path, note: Note) -> None:
    known = wanted.known.get(found.file)
    if known is not None and known != found.sha256:
        raise SdkError(
            f"sha256 is {found.sha256}, want {known}",
            where=str(path),
            hint="this is not the file that was published: remove it, and clear pip's cache",
        )
    if known is None and not wanted.is_local:
        note(f"{found.file} is not in the list of known files: took it, and recorded its sha256")


def _local_library(name: str, cxx: str) -> Path:
    try:
        said = subprocess.run(
            [cxx, f"-print-file-name={name}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SdkError(f"{cxx} does not run: {error}", hint="set CXX to a C++ compiler") from error
    path = Path(said.strip())
    if not path.is_absolute() or not path.is_file():
        raise SdkError(f"{cxx} knows no {name}", hint="install g++ with its shared libraries")
    return path.resolve()


def _from_folder(wanted: Wanted, folder: Path, platform: str) -> Path:
    try:
        files = sorted(it for it in folder.iterdir() if it.suffix == ".whl" and it.is_file())
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            where=str(folder),
            hint="name a folder of wheels: --from FOLDER",
        ) from error
    fitting = [it for it in files if _is_wheel_of(it.name, wanted) and _is_for(it.stem, platform)]
    fitting.sort(key=lambda it: it.name not in wanted.known)
    if not fitting:
        raise InputError(
            f"no wheel of {wanted.name} {wanted.version} here that is for {platform}",
            where=str(folder),
            hint=f"pip download --no-deps --dest {folder} {wanted.name}=={wanted.version}",
        )
    return fitting[0]


def _is_wheel_of(file: str, wanted: Wanted) -> bool:
    name, _, rest = file.partition("-")
    version = rest.partition("-")[0]
    is_local = version.startswith(f"{wanted.version}+") and not wanted.is_literal
    is_version = version == wanted.version or is_local
    return _SEPARATORS.sub("-", name).lower() == wanted.name and is_version


def _is_for(stem: str, platform: str) -> bool:
    """Tell whether a wheel is for a platform: its name ends in those that it is for."""
    cpu = platform.partition("-")[0]
    tags = stem.rpartition("-")[2].split(".")
    return any(it == "any" or (it.endswith(f"_{cpu}") and "linux" in it) for it in tags)


def _download(wanted: Wanted, platform: str, folder: Path, note: Note) -> Path:
    note(f"pip download {wanted.name}=={wanted.version}")
    folder.mkdir(parents=True)
    try:
        # Its bar and its warnings go where ours go; standard output is for results.
        status = subprocess.run(
            download_command(wanted, platform, folder), stdout=sys.stderr, check=False
        ).returncode
    except OSError as error:
        raise SdkError(f"cannot run pip: {error.strerror}", hint="install pip") from error
    found = sorted(folder.glob("*.whl"))
    if status or not found:
        raise SdkError(
            f"pip could not download {wanted.name} {wanted.version}",
            hint="see its message above; with files of your own: --from FOLDER",
        )
    note(f"got {found[0].name}, {found[0].stat().st_size / _MIB:.0f} MiB")
    return found[0]


def download_command(wanted: Wanted, platform: str, folder: Path) -> list[str]:
    """Return the command of pip: the user's own indexes, caches and proxies hold."""
    cpu = platform.partition("-")[0]
    short = _PYTHON.replace(".", "")
    relation = "===" if wanted.is_literal else "=="
    return [
        *(sys.executable, "-P", "-m", "pip", "--disable-pip-version-check"),
        *("download", "--no-deps"),
        *("--only-binary", ":all:", "--python-version", _PYTHON),
        *("--implementation", "cp", "--abi", f"cp{short}"),
        *(word for name in _PLATFORMS for word in ("--platform", f"{name}_{cpu}")),
        *("--dest", str(folder), f"{wanted.name}{relation}{wanted.version}"),
    ]


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", where=str(path), hint="make it readable"
        ) from error
