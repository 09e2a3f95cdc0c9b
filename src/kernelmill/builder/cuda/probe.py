"""Find the CUDA toolkits of this machine, and ask each compiler: the facts for ``toolchain``."""

from __future__ import annotations

import re
import runpy
import shutil
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelmill.builder.cuda.libraries import find_libraries
from kernelmill.builder.cuda.toolchain import KIND, CudaToolkit, Trial
from kernelmill.builder.errors import SdkError
from kernelmill.builder.hip.toolchain import CLANG_NAMES, OLDEST_CLANG
from kernelmill.builder.memo import UnusableError, ask_compiler
from kernelmill.spec.version import parse_major_minor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelmill.builder.sdk.store import Sdk, Store

MATH: Final = "cuda-math"
"""The kind of SDK that has the headers of cuBLAS, cuSPARSE, cuSOLVER and cuRAND."""
LIST_CPUS: Final = ("--print-supported-cpus", "--target=nvptx64-nvidia-cuda")
_HOST_CONFIG: Final = "crt/host_config.h"
_HOSTS: Final = {"gcc": (r"#if __GNUC__ > (\d+)", 0), "clang": (r"__clang_major__ >= (\d+)", -1)}


def probe_cuda(
    environ: Mapping[str, str],
    *,
    packages: Sequence[str],
    store: Store,
    local: str = "/usr/local",
) -> tuple[Trial, ...]:
    """Try every toolkit, best first: the user's, the machine's, those of packages, those of SDKs.

    Args:
        environ: the environment: ``CUDA_HOME``, ``CUDA_PATH`` and ``PATH``.
        packages: where Python packages are, as in ``sys.path``.
        store: where SDKs are.
        local: where NVIDIA's installer puts toolkits.
    """
    script = _script()
    sdks = _installed(store)
    places = [*script["find_toolkits"](environ, packages=packages, local=local)]
    newest_first = reversed([it for it in sdks if it.record.kind == KIND])
    stored = (script["describe"](f"SDK {it.record.name}", str(it.tree)) for it in newest_first)
    return tuple(_try(place, environ, sdks) for place in (*places, *stored))


@cache
def _script() -> dict[str, Any]:
    """Return the functions that a generated project looks with too."""
    name = "templates/project/cmake/cuda_facts.py"
    with resources.as_file(resources.files("kernelmill.builder") / name) as path:
        return runpy.run_path(str(path))


def _installed(store: Store) -> tuple[Sdk, ...]:
    try:
        return store.installed()
    except SdkError:
        return ()  # whoever needs an SDK is told which one is damaged


def _try(place: Mapping[str, Any], environ: Mapping[str, str], sdks: Sequence[Sdk]) -> Trial:
    source, root = str(place["source"]), str(place["root"])
    try:
        toolkit = _examine(place, environ, sdks)
    except UnusableError as error:
        return Trial(source=source, root=root, toolkit=None, objection=str(error))
    return Trial(source=source, root=root, toolkit=toolkit)


def _examine(
    place: Mapping[str, Any], environ: Mapping[str, str], sdks: Sequence[Sdk]
) -> CudaToolkit:
    if place["problem"]:
        raise UnusableError(place["problem"])
    release = parse_major_minor(place["release"], where=place["root"])
    math = [it for it in sdks if it.record.kind == MATH and _is_for(it, release)]
    own = [it for it in sdks if str(it.tree) == place["root"]]
    is_nvcc = bool(place["compiler"])
    compiler, text, archs = _ask_nvcc(place["compiler"]) if is_nvcc else _ask_clang(environ)
    return CudaToolkit(
        kind="nvcc" if is_nvcc else "clang",
        root=place["root"],
        compiler=compiler,
        version_text=text,
        release=release,
        include=(*place["include"], *(str(it.tree / "include") for it in math[-1:])),
        runtime=place["runtime"],
        archs=archs,
        newest_host=_newest_hosts(place["include"]) if is_nvcc else {},
        libraries=find_libraries(sdks),
        inputs={k: v for it in (*own, *math[-1:]) for k, v in it.inputs.items()},
    )


def _ask_nvcc(nvcc: str) -> tuple[str, str, frozenset[str]]:
    version = re.search(r"\bV(\d+\.\d+\.\d+)", ask_compiler([nvcc, "--version"]))
    numbers = re.findall(r"\bcompute_([0-9]{2,3})\b", ask_compiler([nvcc, "--list-gpu-arch"]))
    if not version or not numbers:
        raise UnusableError("nvcc does not say its version and architectures")
    return nvcc, f"nvcc {version[1]}", frozenset(map(_capability, numbers))


def _ask_clang(environ: Mapping[str, str]) -> tuple[str, str, frozenset[str]]:
    """Return the newest clang that targets NVIDIA's GPUs."""
    path = ":".join(it for it in environ.get("PATH", "").split(":") if it)
    for found in filter(None, (shutil.which(name, path=path) for name in CLANG_NAMES)):
        version = re.search(r"clang version (\d+)\.[\d.]+", ask_compiler([found, "--version"]))
        if version and int(version[1]) >= OLDEST_CLANG:
            numbers = re.findall(r"\bsm_([0-9]{2,3})\b", ask_compiler([found, *LIST_CPUS]))
            return found, version[0], frozenset(map(_capability, numbers))
    raise UnusableError(f"it has no nvcc, and there is no clang++ {OLDEST_CLANG} or later on PATH")


def _is_for(math: Sdk, release: tuple[int, int]) -> bool:
    """Tell whether headers of libraries go with a toolkit: they do within a major version."""
    return math.record.facts.get("cuda", "").partition(".")[0] == str(release[0])


def _newest_hosts(include: Sequence[str]) -> dict[str, int]:
    return {
        family: int(found[1]) + step
        for family, (pattern, step) in _HOSTS.items()
        for text in _texts(include)
        if (found := re.search(pattern, text))
    }


def _texts(include: Sequence[str]) -> Iterator[str]:
    for folder in include[:1]:
        place = Path(folder) / _HOST_CONFIG
        if place.is_file():
            yield place.read_text("utf-8", errors="replace")


def _capability(number: str) -> str:
    return f"{number[:-1]}.{number[-1]}"
