"""Edition 3 of ``build.toml``: version, license and framework may be left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.spec.editions.edits import Put
from kernelmill.spec.editions.step import UNKNOWN_LICENSE
from kernelmill.spec.editions.v2 import KERNEL_KEYS

if TYPE_CHECKING:
    from kernelmill.spec.editions.step import Keys, Step

KEYS: Final[Keys] = {
    (): ("general", "torch", "torch-noarch", "tvm-ffi", "kernel"),
    ("general",): (
        *("name", "version", "license", "upstream", "backends", "python-depends"),
        *("hub", "cuda", "neuron", "xpu"),
    ),
    ("general", "hub"): ("repo-id", "branch"),
    ("general", "cuda"): ("minver", "maxver", "python-depends"),
    ("general", "neuron"): ("python-depends",),
    ("general", "xpu"): ("python-depends",),
    ("torch",): ("include", "minver", "maxver", "pyext", "src"),
    ("torch-noarch",): ("pyext", "cuda_capabilities", "rocm_archs"),
    ("tvm-ffi",): ("include", "pyext", "src"),
    ("kernel", "*"): KERNEL_KEYS,
}


def upgrade(step: Step) -> None:
    """Make edition 4: write what was left out."""
    if "general" not in step.document:
        return  # reported when the whole is read
    general = step.table("general")
    if "version" not in general:
        step.edits.append(Put(("general", "version"), 1))
        step.assumed.append("version 1")
    if "license" not in general:
        _add_license(step)
    has_framework = {"torch", "torch-noarch", "tvm-ffi"} & set(step.document)
    if not has_framework and not step.table("kernel"):
        step.edits.append(Put(("torch-noarch",), None))


def _add_license(step: Step) -> None:
    if hint := step.license_hint:
        step.edits.append(Put(("general", "license"), hint.expression))
        step.assumed.append(f"license {hint.expression} (from {hint.source})")
        return
    step.edits.append(Put(("general", "license"), UNKNOWN_LICENSE))
    step.assumed.append(f"license {UNKNOWN_LICENSE}, as none is named")
    step.lack_license()
