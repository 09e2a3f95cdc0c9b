"""Edition 2 of ``build.toml``: kernels have a ``backend``; the whole lists none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.spec.backend import Backend
from kernelmill.spec.editions.edits import Move, Put, Remove
from kernelmill.spec.reader import boolean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.spec.editions.step import Keys, Step

KERNEL_KEYS: Final = (
    "backend",
    "depends",
    "src",
    "include",
    "cxx-flags",
    "cuda-capabilities",
    "cuda-flags",
    "cuda-minver",
    "rocm-archs",
    "hip-flags",
    "sycl-flags",
)
KEYS: Final[Keys] = {
    (): ("general", "torch", "kernel"),
    ("general",): (
        *("name", "universal", "cuda-minver", "cuda-maxver"),
        *("hub", "python-depends"),
    ),
    ("general", "hub"): ("repo-id", "branch"),
    ("torch",): ("include", "minver", "maxver", "pyext", "src"),
    ("kernel", "*"): KERNEL_KEYS,
}
_BACKENDS: Final = tuple(
    map(str, (Backend.CPU, Backend.CUDA, Backend.METAL, Backend.ROCM, Backend.XPU))
)
_NOARCH_KEYS: Final = frozenset({"pyext"})
_CUDA_ONLY: Final = "nvidia-cutlass-dsl"


def upgrade(step: Step) -> None:
    """Make edition 3: the whole lists its ``backends``, and Python only is a framework."""
    general, kernels = step.table("general"), step.table("kernel")
    universal = False
    if "universal" in general:
        universal = step.read(("general", "universal"), boolean, stand_in=True)
        step.edits.append(Remove(("general", "universal")))
    backends = _BACKENDS if universal else _backends_of_kernels(step)
    if not backends:
        hint = "add [kernel.NAME], or universal = true in [general] for Python only"
        step.fail(("general",), "neither kernels nor universal = true: nothing to build", hint)
    step.edits.append(Put(("general", "backends"), tuple(backends or _BACKENDS)))
    for key in ("minver", "maxver"):
        if f"cuda-{key}" in general:
            step.edits.append(Move(("general", f"cuda-{key}"), ("general", "cuda", key)))
    _upgrade_python_depends(step)
    if universal and not kernels:
        _make_noarch(step)


def _backends_of_kernels(step: Step) -> Sequence[str]:
    found = {str(kernel.get("backend")) for _, kernel in step.kernels()}
    # With an unknown backend that is the mistake to tell, and no other.
    return _BACKENDS if found - set(_BACKENDS) else [it for it in _BACKENDS if it in found]


def _upgrade_python_depends(step: Step) -> None:
    depends = step.table("general").get("python-depends")
    if isinstance(depends, list) and _CUDA_ONLY in depends:
        kept = tuple(str(it) for it in depends if it != _CUDA_ONLY)
        key = ("general", "python-depends")
        step.edits.append(Put(key, kept) if kept else Remove(key))
        step.edits.append(Put(("general", "cuda", "python-depends"), (_CUDA_ONLY,)))


def _make_noarch(step: Step) -> None:
    torch = step.table("torch")
    if "torch" not in step.document:
        step.edits.append(Put(("torch-noarch",), None))
        return
    foreign = [key for key in torch if key not in _NOARCH_KEYS]
    step.edits.extend([Remove(("torch", key)) for key in foreign])
    step.edits.append(Move(("torch",), ("torch-noarch",)))
    step.assumed.extend(
        [f"torch.{key} means nothing for Python only" for key in foreign if torch[key]]
    )
