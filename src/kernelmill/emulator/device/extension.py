"""The compiled part of the emulated device: which torch it fits, and building it."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from kernelmill.emulator.device.errors import TorchError
from kernelmill.emulator.hip_runtime.compile import (
    Recipe,
    ensure_library,
    find_c_compiler,
    find_cxx_compiler,
)

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.emulator.device.settings import Settings

TESTED: Final = ((2, 13),)
"""Releases of torch with which the tests pass. The device is tied to one by its C++ interface."""
ROCM_LIBRARIES: Final = ("libc10_hip.so", "libtorch_hip.so")
FLAGS: Final = ("-std=c++20", "-O1", "-fPIC", "-shared", "-DNDEBUG", "-w")


def read_torch_version(torch_folder: Path) -> str:
    """Return the version of the torch in ``torch_folder``, without importing it.

    Raises:
        TorchError: there is no version in it.
    """
    path = torch_folder / "version.py"
    try:
        match = re.search(r"^__version__ = '([^']+)'", path.read_text("utf-8"), re.MULTILINE)
    except OSError as error:
        raise TorchError(f"torch's version cannot be read: {error}", where=str(path)) from error
    if not match:
        raise TorchError("torch's version is not where it is expected", where=str(path))
    return match[1]


def check_torch(version: str, torch_folder: Path, *, allows_any: bool) -> None:
    """Refuse a torch that the device does not work with.

    Raises:
        TorchError: it is a GPU build, or a release that was not tested.
    """
    for name in ("libtorch_cuda.so", "libtorch_hip.so"):
        if (torch_folder / "lib" / name).exists():
            raise TorchError(
                f"torch {version} is a GPU build ({name}): the emulated device takes the place of"
                " a real one and needs a CPU build",
                where=str(torch_folder),
                hint="pip install torch --index-url https://download.pytorch.org/whl/cpu",
            )
    numbers = re.match(r"(\d+)\.(\d+)", version)
    release = (int(numbers[1]), int(numbers[2])) if numbers else None
    if release in TESTED or allows_any:
        return
    tested = ", ".join(f"{major}.{minor}" for major, minor in TESTED)
    raise TorchError(
        f"torch {version} was not tested with the emulated device, which is tied to torch's C++"
        f" interface; tested: {tested}",
        where=str(torch_folder),
        hint="install a tested torch, or set KERNELMILL_EMULATOR_ANY_TORCH=1 to try this one",
    )


def ensure_aliases(settings: Settings) -> tuple[Path, ...]:
    """Return empty libraries with the names of those that only a ROCm build of torch has.

    A library that was built against one asks for them; what it needs of them is in the device's
    own library.

    Raises:
        CompileError: the compiler fails.
    """
    compiler = find_c_compiler(settings.path)
    recipes = (
        Recipe(
            name=name,
            sources={"empty.c": ""},
            compiler=compiler,
            flags=("-shared", "-fPIC", f"-Wl,-soname,{name}", "empty.c"),
        )
        for name in ROCM_LIBRARIES
    )
    return tuple(ensure_library(recipe, settings.cache) for recipe in recipes)


def ensure_extension(torch_folder: Path, settings: Settings) -> Path:
    """Return the device's library for the torch in ``torch_folder``; compile it if need be.

    Raises:
        TorchError: the device does not work with this torch.
        CompileError: the compiler fails.
    """
    version = read_torch_version(torch_folder)
    check_torch(version, torch_folder, allows_any=settings.allows_any_torch)
    native = sorted(
        files("kernelmill.emulator.device").joinpath("native").iterdir(), key=lambda x: x.name
    )
    include = torch_folder / "include"
    recipe = Recipe(
        name="libemulated_device.so",
        sources={item.name: item.read_text("utf-8") for item in native},
        compiler=find_cxx_compiler(settings.path),
        flags=(
            *FLAGS, f"-I{include}", f"-I{include / 'torch/csrc/api/include'}", "device.cpp",
            f"-L{torch_folder / 'lib'}", "-ltorch_cpu", "-lc10",
        ),
        depends=f"{version} {(torch_folder / 'version.py').read_text('utf-8')}",
    )  # fmt: skip
    return ensure_library(
        recipe,
        settings.cache,
        announce=f"compiling the emulated device for torch {version}: once, about 10 s",
    )
