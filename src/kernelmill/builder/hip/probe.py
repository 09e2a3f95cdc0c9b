"""Find the compilers for AMD GPUs on this machine, and try each: the facts for ``toolchain``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.hip.toolchain import (
    CLANG_NAMES,
    OLDEST_CLANG,
    PIP_FOLDERS,
    ROCM_VARIABLES,
    HipToolchain,
    Place,
    Surroundings,
    Trial,
    order_places,
)
from kernelmill.builder.memo import UnusableError, ask_compiler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SDK_COMPILERS: Final = ("lib/llvm/bin/clang++", "llvm/bin/clang++")
SDK_VERSION: Final = "include/hip/hip_version.h"
SDK_RUNTIME: Final = "lib/libamdhip64.so"
SDK_HEADER: Final = "include/hip/hip_runtime.h"
# NOTE: without the last, clang insists on AMD's device libraries even to list what it knows.
LIST_TARGETS: Final = ("--print-supported-cpus", "--target=amdgcn-amd-amdhsa", "-nogpulib")


def probe_hip_compilers(
    *,
    environ: Mapping[str, str],
    path_entries: Sequence[str] | None = None,
    package_folders: Sequence[str] = (),
    opt_folder: Path = Path("/opt"),
) -> tuple[Trial, ...]:
    """Try every compiler for AMD GPUs, best first. Runs each that is there, twice or three times.

    Args:
        environ: the environment: the variables that name an SDK, and ``PATH``.
        path_entries: folders with programs; those of ``PATH`` by default.
        package_folders: where Python packages are, as in ``sys.path``.
        opt_folder: where distributions put ROCm.
    """
    entries = environ.get("PATH", "").split(":") if path_entries is None else path_entries
    surroundings = look_around(environ, entries, package_folders, opt_folder)
    return tuple(_try(place, entries) for place in order_places(surroundings))


def look_around(
    environ: Mapping[str, str],
    path_entries: Sequence[str],
    package_folders: Iterable[str],
    opt_folder: Path,
) -> Surroundings:
    """Return where compilers could be. Runs nothing."""
    # NOTE: an empty entry would mean the current folder, from which nothing may be run.
    path = ":".join(entry for entry in path_entries if entry)
    folders = [Path(folder) for folder in package_folders if folder]
    hipcc = shutil.which("hipcc", path=path) if path else None
    named = [(name, environ[name]) for name in ROCM_VARIABLES if environ.get(name)]
    found = [clang for name in CLANG_NAMES if path and (clang := shutil.which(name, path=path))]
    pip = (folder / name for name in PIP_FOLDERS for folder in folders)
    zig = (folder / "ziglang" / "zig" for folder in folders)
    return Surroundings(
        pip_sdk=next((str(candidate) for candidate in pip if candidate.is_dir()), None),
        rocm_variable=named[0] if named else None,
        hipcc=str(Path(hipcc).resolve()) if hipcc else None,
        opt_folders=tuple(
            str(folder)
            for folder in sorted(opt_folder.glob("rocm*"))
            if folder.is_dir() and re.fullmatch(r"rocm(-.+)?", folder.name)
        ),
        clangs=tuple(dict.fromkeys(found)),
        zig=next((str(candidate) for candidate in zig if candidate.is_file()), None),
    )


def _try(place: Place, path_entries: Sequence[str]) -> Trial:
    try:
        toolchain = _examine(place, path_entries)
    except UnusableError as error:
        return Trial(place=place, toolchain=None, objection=str(error))
    return Trial(place=place, toolchain=toolchain, objection="")


def _examine(place: Place, path_entries: Sequence[str]) -> HipToolchain:
    if place.path is None:
        raise UnusableError("not found")
    command = _command(place, place.path)
    version = _first_line(ask_compiler([*command, "--version"]))
    if place.kind == "clang":
        _check_clang(command, version, path_entries)
    archs = set(re.findall(r"\bgfx[0-9a-z-]+", ask_compiler([*command, *LIST_TARGETS])))
    if not archs:
        raise UnusableError(f"{version} has no AMDGPU target")
    root = place.path if place.kind == "rocm" else None
    return HipToolchain(
        kind=place.kind,
        command=command,
        version_text=f"{version} (ziglang)" if place.kind == "zig" else version,
        rocm_root=root,
        rocm_version=_sdk_version(Path(root)) if root else None,
        archs=tuple(sorted(archs)),
    )


def _sdk_version(root: Path) -> tuple[int, int] | None:
    """Return the version in an SDK's headers; None where these or the runtime are missing."""
    try:
        text = (root / SDK_VERSION).read_text("utf-8")
    except OSError:
        return None
    numbers = [re.search(rf"HIP_VERSION_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR")]
    major, minor = (int(it[1]) if it else None for it in numbers)
    if major is None or minor is None or not (root / SDK_RUNTIME).exists():
        return None
    return major, minor


def _command(place: Place, path: str) -> tuple[str, ...]:
    if place.kind == "zig":
        return (path, "clang")
    if place.kind == "clang":
        return (path,)
    root = Path(path)
    if not (root / SDK_HEADER).is_file():
        raise UnusableError(f"no {SDK_HEADER}")
    for candidate in SDK_COMPILERS:
        if (root / candidate).is_file():
            return (str(root / candidate),)
    raise UnusableError(f"no {SDK_COMPILERS[0]}")


def _check_clang(command: tuple[str, ...], version: str, path_entries: Sequence[str]) -> None:
    match = re.search(r"clang version (\d+)", version)
    if not match or int(match[1]) < OLDEST_CLANG:
        raise UnusableError(f"{version} is older than clang {OLDEST_CLANG}")
    # clang answers with a full path, or repeats the name when it found none of its own.
    lld = _first_line(ask_compiler([*command, "--print-prog-name=lld"]))
    path = ":".join(entry for entry in path_entries if entry)
    if not shutil.which(lld, path=path):
        raise UnusableError(f"{version} has no lld to link device code: install lld-{match[1]}")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
