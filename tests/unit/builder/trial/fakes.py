"""Made-up machines and results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from kernelmill.builder.trial.plan import Plan, Site, parse_question, plan_trials
from kernelmill.spec.backend import Backend
from kernelmill.spec.host import Host
from kernelmill.spec.version import parse_release

if TYPE_CHECKING:
    from collections.abc import Sequence

CPU: Final = "torch213-cxx11-cpu-x86_64-linux"
ROCM: Final = "torch213-cxx11-rocm71-x86_64-linux"
OLD_ROCM: Final = "torch213-cxx11-rocm64-x86_64-linux"
OTHER_TORCH: Final = "torch212-cxx11-rocm71-x86_64-linux"


def site(*, gpus: tuple[str, ...] = (), rocm: tuple[int, int] | None = None) -> Site:
    """Return an x86-64 machine with PyTorch 2.13."""
    host = Host(
        cpu="x86_64",
        os="linux",
        backend=Backend.CPU,
        torch=parse_release("2.13.0", what="torch"),
        cxx11_abi=True,
        python=(3, 11),
    )
    return Site(host=host, gpus=gpus, rocm=rocm)


def plan(
    names: Sequence[str],
    *,
    backends: list[str] | None = None,
    emulate: bool = False,
    sanitize: bool = False,
    profile: bool = False,
    at: Site | None = None,
) -> Plan:
    """Plan what ``kernel-builder test gemm`` does."""
    question = parse_question(
        "gemm", backends=backends, emulate=emulate, sanitize=sanitize, profile=profile
    )
    return plan_trials(names, question, at or site())


def finding(**changes: object) -> dict[str, Any]:
    """Return a finding as ``kernel-emulator run --report`` writes it."""
    return {
        "kind": "lds-race",
        "kernel": "sum",
        "address": 0x1750,
        "instruction": "ds_write_b32 v2, v1",
        "source": "sum.hip:21",
        "workgroup": 0,
        "work_item": 64,
        "detail": "byte 256",
        "count": 3,
        "text": "lds-race: …",
    } | changes


def report(*launches: list[dict[str, Any]], version: int = 1, error: str = "") -> str:
    """Return a report of launches with these findings."""
    every = [
        {"kernel": "sum", "seconds": 0.5, "instructions": 100, "findings": it, "error": error}
        for it in launches
    ]
    return json.dumps({"version": version, "launches": every})
