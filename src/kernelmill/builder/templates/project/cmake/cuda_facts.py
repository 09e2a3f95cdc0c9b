"""Print where CUDA toolkits are on this machine, best first, as JSON.

Order: CUDA_HOME, CUDA_PATH, nvcc on PATH, /usr/local/cuda, /usr/local/cuda-* (newest first), and
the Python packages of NVIDIA (nvidia-cuda-nvcc and its siblings, from CUDA 13 on).
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

VARIABLES = ("CUDA_HOME", "CUDA_PATH")
WHEELS = "pip install nvidia-cuda-{nvcc,crt,runtime,cccl} nvidia-nvvm"
INCLUDES = ("include", "targets/x86_64-linux/include", "targets/sbsa-linux/include")
LIBRARIES = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")


def cuda_facts() -> dict[str, object]:
    """Return the facts of this process's machine."""
    return {"places": list(find_toolkits(os.environ, packages=sys.path))}


def find_toolkits(
    environ: Mapping[str, str], *, packages: Iterable[str], local: str = "/usr/local"
) -> Iterator[dict[str, object]]:
    """Yield every place, those without a toolkit too.

    Args:
        environ: the environment.
        packages: where Python packages are, as in ``sys.path``.
        local: where NVIDIA's installer puts toolkits.
    """
    for name in VARIABLES:
        yield describe(f"${name}", environ.get(name, ""))
    yield describe("nvcc on PATH", _root_of(shutil.which("nvcc", path=environ.get("PATH", ""))))
    numbered = sorted(pathlib.Path(local).glob("cuda-*"), key=_newest_first)
    for folder in [pathlib.Path(local, "cuda"), *numbered]:
        yield describe(local, str(folder) if folder.is_dir() else "")
    roots = (
        path
        for it in packages
        if it
        for path in sorted(pathlib.Path(it, "nvidia").glob("cu[0-9]*"))
    )
    yield describe("Python packages", str(next(roots, "")))


def describe(source: str, root: str) -> dict[str, object]:
    """Return what is in the folder ``root``; ``problem`` says why it is no whole toolkit."""
    facts: dict[str, object] = {"source": source, "root": root, "problem": ""}
    try:
        facts |= _layout(pathlib.Path(root)) if root else {"problem": "not found"}
    except ValueError as error:
        facts["problem"] = str(error)
    except OSError as error:
        facts["problem"] = f"cannot be read: {error.strerror}"
    return facts


def _layout(root: pathlib.Path) -> dict[str, object]:
    if not root.is_absolute():
        raise ValueError("not an absolute path")
    compiler = root / "bin" / "nvcc"
    is_for_clang = not compiler.is_file() and (root / "bin" / "fatbinary").is_file()
    if not (compiler.is_file() or is_for_clang):
        hint = f": {WHEELS}" if root.parent.name == "nvidia" else ""
        raise ValueError(f"no bin/nvcc{hint}")
    include = next(
        (root / it for it in INCLUDES if (root / it / "cuda_runtime_api.h").is_file()), None
    )
    if include is None or not (include / "cuda.h").is_file():
        raise ValueError("no include/cuda_runtime_api.h")
    text = (include / "cuda.h").read_text(encoding="utf-8", errors="replace")
    number = re.search(r"^#define\s+CUDA_VERSION\s+(\d+)", text, re.MULTILINE)
    if number is None:
        raise ValueError("no CUDA_VERSION in include/cuda.h")
    major, rest = divmod(int(number.group(1)), 1000)
    names = [f"libcudart.so.{major}", "libcudart.so"]
    libraries = [root / it / name for name in names for it in LIBRARIES]
    runtime = next((it for it in libraries if it.exists()), None)
    if runtime is None:
        raise ValueError(f"no lib/{names[0]}")
    cccl = [include / "cccl"] if (include / "cccl").is_dir() else []
    return {
        "compiler": "" if is_for_clang else str(compiler),
        "release": f"{major}.{rest // 10}",
        "include": [str(it) for it in (include, *cccl)],
        "runtime": str(runtime),
    }


def _root_of(nvcc: str | None) -> str:
    """Return the toolkit that an nvcc belongs to: links are followed, wrappers are asked."""
    if nvcc is None:
        return ""
    root = pathlib.Path(nvcc).resolve().parent.parent
    if any((root / it / "cuda_runtime_api.h").is_file() for it in INCLUDES):
        return str(root)
    command = [nvcc, "--dryrun", "-c", "x.cu"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return str(root)
    found = re.search(r"^#\$ TOP=(.+)$", done.stderr.decode(errors="replace"), re.MULTILINE)
    return str(pathlib.Path(found.group(1).strip()).resolve()) if found else str(root)


def _newest_first(folder: pathlib.Path) -> list[int]:
    return [-int(it) for it in re.findall(r"\d+", folder.name)]


if __name__ == "__main__":
    json.dump(cuda_facts(), sys.stdout, indent=2, sort_keys=True)
