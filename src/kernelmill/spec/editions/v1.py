"""Edition 1 of ``build.toml``: kernels have a ``language``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.spec.editions.edits import Copy, Move, Put, Remove
from kernelmill.spec.reader import allowed_hint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kernelmill.spec.editions.step import Keys, Step

KEYS: Final[Keys] = {
    (): ("general", "torch", "kernel"),
    ("general",): ("name",),
    ("torch",): ("include", "pyext", "src", "universal"),
    ("kernel", "*"): (
        "language",
        "cuda-capabilities",
        "rocm-archs",
        "depends",
        "include",
        "src",
    ),
}
LANGUAGES: Final = ("cuda", "cuda-hipify", "metal")
_ONLY_FOR: Final = {"cuda-capabilities": "cuda", "rocm-archs": "rocm"}


def upgrade(step: Step) -> None:
    """Make edition 2: kernels have a ``backend``, and ``universal`` is the whole kernel's."""
    if "universal" in step.table("torch"):
        step.edits.append(Move(("torch", "universal"), ("general", "universal")))
    for name, kernel in step.kernels():
        _upgrade_kernel(step, name, kernel)


def _upgrade_kernel(step: Step, name: str, kernel: Mapping[str, Any]) -> None:
    here = ("kernel", name)
    language = kernel.get("language", "cuda")
    if language not in LANGUAGES:
        problem = f"unknown language {language!r}"
        step.fail((*here, "language"), problem, allowed_hint(str(language), LANGUAGES))
        language = "cuda"
    if "language" in kernel:
        step.edits.append(Move((*here, "language"), (*here, "backend")))
    step.edits.append(Put((*here, "backend"), "metal" if language == "metal" else "cuda"))
    twin = f"{name}_rocm"
    if language == "cuda-hipify" and twin in step.table("kernel"):
        hint = "rename that kernel: this one becomes two, and the second takes its name"
        step.fail((*here, "language"), f"kernel {twin!r} exists already", hint)
    elif language == "cuda-hipify":
        there = ("kernel", twin)
        step.edits.extend([Copy(here, twin), Put((*there, "backend"), "rocm")])
        _drop_foreign(step, there, kernel, "rocm")
    foreign = _drop_foreign(step, here, kernel, "metal" if language == "metal" else "cuda")
    if language != "cuda-hipify":
        step.assumed.extend([f"{key} of kernel {name!r} means nothing there" for key in foreign])


def _drop_foreign(
    step: Step, path: tuple[str, ...], kernel: Mapping[str, Any], backend: str
) -> list[str]:
    foreign = [key for key, owner in _ONLY_FOR.items() if key in kernel and owner != backend]
    step.edits.extend([Remove((*path, key)) for key in foreign])
    return foreign
