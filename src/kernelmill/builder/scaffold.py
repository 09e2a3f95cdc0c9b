"""The files of a new kernel repository: small, but it builds, tests and publishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError
from kernelmill.builder.fileset import FileSet
from kernelmill.builder.render.template import read_template, render_template

if TYPE_CHECKING:
    from kernelmill.spec.backend import Backend
    from kernelmill.spec.names import KernelName, RepoId

_KERNELS: dict[str, str] = {"cpu": "relu_cpu.cpp", "rocm": "relu_rocm.hip"}


def scaffold(
    name: KernelName, *, repo_id: RepoId | None, license_id: str, backends: tuple[Backend, ...]
) -> FileSet:
    """Return the files of a kernel called ``name``.

    Args:
        name: the kernel's name.
        repo_id: where it will be published; None to leave that open.
        license_id: an SPDX expression.
        backends: cpu, rocm or both.

    Raises:
        PlanError: there is no template for a backend.
    """
    for backend in backends:
        if backend not in _KERNELS:
            raise PlanError(
                f"cannot build for {backend} from a template",
                hint=f"there are templates for {' and '.join(_KERNELS)}",
            )
    values: dict[str, object] = {
        "name": name,
        "python_name": name.python_name,
        "repo_id": repo_id,
        "license": license_id,
        "backends": [str(backend) for backend in backends],
    }
    package, sources = f"torch-ext/{name.python_name}", name.python_name
    filled = {
        "build.toml": "build.toml",
        "flake.nix": "flake.nix",
        "CARD.md": "CARD.md",
        "README.md": "README.md",
        "example.py": "example.py",
        "tests/test_relu.py": "tests/test_relu.py",
        "benchmarks/benchmark.py": "benchmarks/benchmark.py",
        f"{package}/__init__.py": "torch-ext/package/__init__.py",
    }
    copied = {
        ".gitignore": "gitignore",
        ".gitattributes": "gitattributes",
        "torch-ext/torch_binding.cpp": "torch-ext/torch_binding.cpp",
        "torch-ext/torch_binding.h": "torch-ext/torch_binding.h",
        f"{sources}/relu.h": "kernel/relu.h",
        **{f"{sources}/{file}": f"kernel/{file}" for file in map(_KERNELS.__getitem__, backends)},
    }
    texts = {path: render_template(f"init/{it}.j2", values) for path, it in filled.items()}
    return FileSet(texts | {path: read_template(f"init/{it}") for path, it in copied.items()})
