from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import MANIFEST, toolchain, write_kernel

from kernelmill.builder.errors import PlanError
from kernelmill.builder.pipeline import plan_goal
from kernelmill.builder.request import Goal, Request, parse_request
from kernelmill.builder.sources import read_tree
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InputError
from kernelmill.spec.manifest import parse

if TYPE_CHECKING:
    from pathlib import Path

WITH_METAL = MANIFEST.replace('"rocm"]', '"rocm", "metal"]')
METAL_ONLY = MANIFEST.partition("\n[kernel")[0].replace('"cpu", "rocm"', '"metal"')


def request(
    manifest: str = MANIFEST,
    backends: list[str] | None = None,
    variants: list[str] | None = None,
    rocm: str | None = None,
) -> Request:
    return parse_request(parse(manifest), backends=backends, variants=variants, rocm=rocm)


def test_request_takes_every_backend_that_can_be_built_by_default() -> None:
    it = request(WITH_METAL)
    assert it.goals == (Goal(backend=Backend.CPU), Goal(backend=Backend.ROCM))
    assert it.skipped == (Backend.METAL,)


@pytest.mark.parametrize(
    "backends",
    [
        pytest.param(["rocm", "cpu", "rocm"], id="one-by-one"),
        pytest.param(["rocm,cpu"], id="one-word"),
        pytest.param(["rocm, cpu", "cpu"], id="both"),
    ],
)
def test_request_takes_the_backends_that_were_named_once_each(backends: list[str]) -> None:
    it = request(WITH_METAL, backends=backends, rocm="6.4")
    assert it.goals == (Goal(backend=Backend.ROCM, version=(6, 4)), Goal(backend=Backend.CPU))
    assert it.skipped == ()


def test_request_reads_backend_and_version_from_a_variant() -> None:
    names = ["torch213-cxx11-rocm72-x86_64-linux", "torch212-cxx11-cpu-x86_64-linux"]
    it = request(variants=[*names, names[0]])
    assert [str(goal) for goal in it.goals] == names
    assert (it.goals[0].backend, it.goals[0].version) == (Backend.ROCM, (7, 2))
    assert (it.goals[1].backend, it.goals[1].version) == (Backend.CPU, None)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param({"backends": ["cudaa"]}, "unknown backend 'cudaa'", id="typo"),
        pytest.param({"backends": ["metal"]}, "cannot build for metal", id="not-built-here"),
        pytest.param({"manifest": METAL_ONLY}, "cannot build for metal", id="nothing-to-build"),
        pytest.param({"rocm": "seven"}, "--rocm: 'seven' is not a version", id="version"),
        pytest.param({"variants": ["torch-cpu"]}, "'torch-cpu' is not compiled", id="noarch"),
        pytest.param(
            {"variants": ["x"]}, "'x' is not the name of a build variant", id="no-variant"
        ),
        pytest.param(
            {"variants": ["torch213-cxx11-cpu-x86_64-linux"], "rocm": "7.1"},
            "--variant names the backend and its version already",
            id="twice",
        ),
    ],
)
def test_request_refuses(arguments: dict[str, str], text: str) -> None:
    with pytest.raises(InputError) as caught:
        request(**arguments)  # type: ignore[arg-type]
    assert text in str(caught.value)


def test_plan_goal_refuses_the_variant_of_another_torch(tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path))
    wanted = request(variants=["torch212-cxx11-cpu-x86_64-linux"])
    with pytest.raises(PlanError, match="cannot build torch212-cxx11-cpu-x86_64-linux") as caught:
        plan_goal(wanted.goals[0], tree, toolchain())
    assert "torch 2.13.0+cpu this is torch213-cxx11-cpu-x86_64-linux" in caught.value.problem
