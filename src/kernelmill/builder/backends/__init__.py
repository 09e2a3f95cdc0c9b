"""The backends that can be built for: one module and one line here for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.backends import cpu, cuda, rocm
from kernelmill.builder.backends.elsewhere import NEEDS
from kernelmill.builder.errors import PlanError
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.builder.plan import BackendRules

BACKENDS: Mapping[Backend, BackendRules] = {
    Backend.CPU: cpu,
    Backend.CUDA: cuda,
    Backend.ROCM: rocm,
}


def rules_for(backend: Backend) -> BackendRules:
    """Return the rules of ``backend``.

    Raises:
        PlanError: this version of kernelmill does not build for it.
    """
    if backend in BACKENDS:
        return BACKENDS[backend]
    if backend in NEEDS:
        tool, way_out = NEEDS[backend]
        raise PlanError(f"cannot build for {backend}: it takes {tool}", hint=way_out)
    raise PlanError(
        f"cannot build for {backend}",
        hint=f"this version builds for {' and '.join(BACKENDS)}",
    )
