"""Get the files that SDKs are made from: by pip, from a folder, or from this machine's compiler."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.format import SdkInput
from kernelmill.spec.errors import InputError
from kernelmill.spec.sizes import shown_size

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
_PIP_HINT: Final = "pip download --no-deps --dest {folder} {name}=={version}"
_APT_HINT: Final = "cd {folder} && apt-get download {name}={version}"


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
        cxx: this machine's C++ compiler, which knows where its libraries are, or the tree of
            the SDK ``cxx``.

    Raises:
        SdkError: it cannot be had, or is not the file that is known under its name.
        InputError: it is not in ``offline``.
    """
    if wanted.is_local:
        path = _local_library(wanted.name, cxx)
    elif offline is not None:
        path = _from_folder(wanted, offline, platform)
    elif wanted.source == "debian":
        path = _download_deb(wanted, scratch / wanted.name, note)
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
    """Return a library of a compiler, or of the SDK whose tree is the folder ``cxx``."""
    if Path(cxx).is_dir():
        return next(Path(cxx).glob(f"usr/lib/*-linux-gnu/{name}")).resolve()
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
    is_deb = wanted.source == "debian"
    suffix = ".deb" if is_deb else ".whl"
    try:
        files = sorted(it for it in folder.iterdir() if it.suffix == suffix and it.is_file())
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            where=str(folder),
            hint="name a folder of wheels and packages: --from FOLDER",
        ) from error
    if is_deb:
        fitting = [it for it in files if _is_deb_of(it.name, wanted)]
    else:
        wheels = (it for it in files if _is_wheel_of(it.name, wanted))
        fitting = [it for it in wheels if _is_for(it.stem, platform)]
    fitting.sort(key=lambda it: it.name not in wanted.known)
    if not fitting:
        what, command = ("package", _APT_HINT) if is_deb else ("wheel", _PIP_HINT)
        raise InputError(
            f"no {what} of {wanted.name} {wanted.version} here that is for {platform}",
            where=str(folder),
            hint=command.format(name=wanted.name, version=wanted.version, folder=folder),
        )
    return fitting[0]


def _is_deb_of(file: str, wanted: Wanted) -> bool:
    # apt writes a colon of the version as %3a.
    name, _, rest = unquote(file).partition("_")
    return name == wanted.name and rest.partition("_")[0] == wanted.version


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
    note(f"got {found[0].name}, {shown_size(found[0].stat().st_size)}")
    return found[0]


def _download_deb(wanted: Wanted, folder: Path, note: Note) -> Path:
    word = f"{wanted.name}={wanted.version}"
    folder.mkdir(parents=True)
    note(f"apt-get download {word}")
    if not _run_apt(word, folder):
        note(f"Debian has dropped {word}: taking the {wanted.name} that it has now")
        _run_apt(wanted.name, folder)
    found = sorted(folder.glob("*.deb"))
    if not found:
        raise SdkError(
            f"apt-get could not download {word}",
            hint="see its message above; with a mirror of yours: --from FOLDER",
        )
    return found[0]


def _run_apt(word: str, folder: Path) -> bool:
    command = ["apt-get", "--quiet", "--quiet", "download", word]
    try:
        done = subprocess.run(command, cwd=folder, stdout=sys.stderr, check=False)
    except OSError as error:
        raise SdkError(
            f"cannot run apt-get: {error.strerror}",
            hint="get the packages on a Debian machine, and use --from FOLDER",
        ) from error
    return done.returncode == 0


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
