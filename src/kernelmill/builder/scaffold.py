"""The files of a new kernel repository: small, but it builds, tests and publishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import PlanError
from kernelmill.builder.fileset import FileSet
from kernelmill.builder.render.template import read_template, render_template
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.spec.names import KernelName, RepoId

SOURCES: Final[Mapping[Backend, tuple[str, ...]]] = {
    Backend.CPU: ("relu_cpu.cpp",),
    Backend.CUDA: ("relu_cuda.cu",),
    Backend.METAL: ("relu_metal.mm", "relu.metal"),
    Backend.ROCM: ("relu_rocm.hip",),
    Backend.XPU: ("relu_xpu.cpp",),
}
"""What is compiled for each backend; for the others, kernels are Python."""
_ELSEWHERE: Final = {Backend.METAL: "Metal", Backend.XPU: "XPU"}
_DEVICES: Final = {
    "cuda": ("torch.cuda.is_available()", {Backend.CUDA, Backend.ROCM}),
    "xpu": ("torch.xpu.is_available()", {Backend.XPU}),
    "mps": ("torch.backends.mps.is_available()", {Backend.METAL}),
}
"""What torch calls a device, when it has one, and the backends that it is for."""


def check_backends(backends: tuple[Backend, ...], *, is_python_only: bool) -> None:
    """Stop here when there is nothing to compile for one of ``backends``.

    Raises:
        PlanError: there is not.
    """
    for backend in backends:
        if not is_python_only and backend not in SOURCES:
            raise PlanError(
                f"kernels for {backend} are Python only",
                where="--backends",
                hint="add --framework torch-noarch",
            )


def scaffold(
    name: KernelName,
    *,
    repo_id: RepoId | None,
    license_id: str,
    backends: tuple[Backend, ...],
    is_python_only: bool = False,
) -> FileSet:
    """Return the files of a kernel called ``name``.

    Args:
        name: the kernel's name.
        repo_id: where it will be published; None to leave that open.
        license_id: an SPDX expression.
        backends: what it is for; unless it is Python only, of those in ``SOURCES``.
        is_python_only: whether nothing of it is compiled.
    """
    values: dict[str, object] = {
        "name": name,
        "python_name": name.python_name,
        "repo_id": repo_id,
        "license": license_id,
        "backends": [str(backend) for backend in backends],
        "is_python_only": is_python_only,
        "sources": {str(backend): files for backend, files in SOURCES.items()},
        "device": _device(backends),
        "can_emulate": Backend.ROCM in backends and not is_python_only,
        "elsewhere": []
        if is_python_only
        else [name for backend, name in _ELSEWHERE.items() if backend in backends],
    }
    package = f"torch-ext/{name.python_name}"
    filled = {
        **{path: path for path in ("build.toml", "flake.nix", "CARD.md", "README.md")},
        **{path: path for path in ("example.py", "tests/test_relu.py", "benchmarks/benchmark.py")},
        f"{package}/__init__.py": "torch-ext/package/"
        + ("python_only.py" if is_python_only else "__init__.py"),
    }
    copied = {".gitignore": "gitignore", ".gitattributes": "gitattributes"}
    copied |= {} if is_python_only else _compiled(name.python_name, backends)
    texts = {path: render_template(f"init/{it}.j2", values) for path, it in filled.items()}
    return FileSet(texts | {path: read_template(f"init/{it}") for path, it in copied.items()})


def _compiled(folder: str, backends: tuple[Backend, ...]) -> dict[str, str]:
    """Return the sources that are compiled: path -> template."""
    files = ["relu.h", *(file for backend in backends for file in SOURCES[backend])]
    binding = ("torch-ext/torch_binding.cpp", "torch-ext/torch_binding.h")
    return {path: path for path in binding} | {f"{folder}/{it}": f"kernel/{it}" for it in files}


def _device(backends: tuple[Backend, ...]) -> str:
    """Return Python that names the device to run on: a GPU where there is one."""
    found = [
        f'"{name}" if {condition}'
        for name, (condition, served) in _DEVICES.items()
        if served & set(backends)
    ]
    if not found and set(backends) != {Backend.CPU}:
        return '"cpu"'
    usual = ['"cuda" if torch.cuda.is_available()']
    last = '"cuda"' if backends == (Backend.ROCM,) else '"cpu"'
    return " else ".join((*(found or usual), last))
