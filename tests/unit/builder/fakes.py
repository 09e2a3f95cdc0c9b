"""Made-up machines and kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelmill.builder.hip.toolchain import HipToolchain, Place, Trial
from kernelmill.builder.jobs import Capacity
from kernelmill.builder.toolchain import Toolchain
from kernelmill.builder.toolchain.programs import Candidate, Program
from kernelmill.builder.toolchain.torch import TorchTarget
from kernelmill.spec.version import parse_release

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MANIFEST = """\
[general]
name = "my-relu"
version = 3
edition = 5
license = "MIT"
backends = ["cpu", "rocm"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.relu_cpu]
backend = "cpu"
depends = ["torch"]
src = ["relu/relu.cpp", "relu/relu.h"]

[kernel.relu_rocm]
backend = "rocm"
depends = ["torch"]
rocm-archs = ["gfx942"]
src = ["relu/relu.hip", "relu/relu.h"]
"""

FILES = {
    "torch-ext/binding.cpp": "// binding\n",
    "torch-ext/my_relu/__init__.py": "from ._ops import ops\n",
    "relu/relu.cpp": "// cpu\n",
    "relu/relu.hip": "// rocm\n",
    "relu/relu.h": "// header\n",
}


def write_kernel(
    root: Path, manifest: str = MANIFEST, files: Mapping[str, str] | None = None
) -> Path:
    """Write a kernel repository of empty sources and return its folder."""
    for path, text in {"build.toml": manifest, **(FILES if files is None else files)}.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root


def program(name: str, path: str = "") -> Program:
    """Return a program that was found at ``path``, or not at all."""
    problem = "" if path else "not found"
    return Program(
        name=name,
        candidates=(Candidate(source="PATH", path=path or name, version="1.2", problem=problem),),
    )


def hip_trial(*archs: str, command: str = "/opt/clang++") -> Trial:
    """Return a working compiler for ``archs``."""
    return Trial(
        place=Place(label="clang on PATH", kind="clang", path=command),
        toolchain=HipToolchain(
            kind="clang",
            command=(command,),
            version_text="clang version 22.0.0",
            rocm_root=None,
            archs=archs,
        ),
        objection="",
    )


def toolchain(torch: str = "2.13.0+cpu", **changes: object) -> Toolchain:
    """Return a complete toolchain, with ``changes`` made to it."""
    complete = Toolchain(
        torch=TorchTarget(
            release=parse_release(torch, what="torch"),
            has_cxx11_abi=True,
            hip="",
            cuda="",
            include=("/torch/include",),
            lib="/torch/lib",
            python="/usr/bin/python3",
            python_include="/usr/include/python3",
        ),
        python="/usr/bin/python3",
        cpu="x86_64",
        cxx=program("C++ compiler", "/usr/bin/g++"),
        cmake=program("cmake", "/usr/bin/cmake"),
        ninja=program("ninja", "/usr/bin/ninja"),
        ccache=program("ccache"),
        hip=(hip_trial("gfx90a", "gfx942"),),
        capacity=Capacity(cores=4, memory_bytes=64 * 1024**3),
        default_archs=(),
    )
    return replace(complete, **changes)  # type: ignore[arg-type]  # replace checks names itself
