"""CUDA toolkits made up for a test: the files that are looked at, and an nvcc that is a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.cuda.toolchain import CudaToolkit, Trial

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ARCHS: Final = "compute_75\ncompute_80\ncompute_90\ncompute_100\ncompute_120\n"
HOST_CONFIG: Final = """\
#if __GNUC__ > 15
#error -- unsupported GNU version! gcc versions later than 15 are not supported!
#endif
#if (__clang_major__ >= 21) || (__clang_major__ < 3)
#error -- unsupported clang version!
#endif
"""


def write_program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return path


def write_toolkit(root: Path, version: str = "13.0.88", *, without: str = "") -> Path:
    """Write a toolkit, but for the file ``without``."""
    major, minor, _ = version.split(".")
    write_program(
        root / "bin/nvcc",
        f'case "$1" in\n--version) echo "release {major}.{minor}, V{version}" ;;\n'
        f"--list-gpu-arch) printf '%s' '{ARCHS}' ;;\n*) exit 9 ;;\nesac",
    )
    files: Mapping[str, str] = {
        "include/cuda.h": f"#define CUDA_VERSION {int(major) * 1000 + int(minor) * 10}\n",
        "include/cuda_runtime_api.h": "",
        "include/crt/host_config.h": HOST_CONFIG,
        "include/cccl/cub/cub.cuh": "",
        f"lib/libcudart.so.{major}": "",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    if without:
        (root / without).unlink()
    return root


def toolkit(
    release: tuple[int, int] = (13, 0), archs: str = "7.5 8.0 8.6 8.7 8.9 9.0 10.0 11.0 12.0 12.1"
) -> CudaToolkit:
    dotted = f"{release[0]}.{release[1]}"
    return CudaToolkit(
        kind="nvcc",
        root=f"/cuda-{dotted}",
        compiler=f"/cuda-{dotted}/bin/nvcc",
        version_text=f"nvcc {dotted}.88",
        release=release,
        include=(f"/cuda-{dotted}/include",),
        runtime=f"/cuda-{dotted}/lib/libcudart.so.{release[0]}",
        archs=frozenset(archs.split()),
        newest_host={"gcc": 15, "clang": 20},
        inputs={f"cuda-{dotted}.88": "ab" * 32},
    )


def trial(release: tuple[int, int] = (13, 0), archs: str | None = None) -> Trial:
    found = toolkit(release, archs) if archs else toolkit(release)
    return Trial(source="$CUDA_HOME", root=found.root, toolkit=found)
