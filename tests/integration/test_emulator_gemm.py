"""The flagship's gfx942 machine code is right, and the sanitizer finds nothing in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.integration.emulated_gemm import (
    TOLERANCE,
    gemm_code,
    largest_error,
    make_operands,
    run_gemm,
)

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.binary.code_object import CodeObject

LAYOUTS = ("kk", "kx", "xk", "xx")


@pytest.fixture(scope="session")
def code(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    folder: Path = tmp_path_factory.mktemp("gemm")
    return gemm_code(folder)


@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(1, 576, 256), (8, 128, 384), (16, 130, 100), (32, 64, 513), (129, 257, 128), (256, 256, 256)],
)
def test_product_is_right_when_the_kernel_is_emulated(
    code: CodeObject, m: int, n: int, k: int, layouts: str
) -> None:
    operands = make_operands(m, n, k)
    found, report = run_gemm(code, operands, layouts=layouts)
    assert largest_error(found, operands.expected) < TOLERANCE
    assert report.flops >= 2 * m * n * k


@settings(
    max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(
    shape=st.tuples(st.integers(1, 150), st.integers(1, 200), st.integers(1, 300)),
    layouts=st.sampled_from(LAYOUTS),
    seed=st.integers(0, 99),
)
def test_product_is_right_and_clean_when_the_shape_is_random(
    code: CodeObject, shape: tuple[int, int, int], layouts: str, seed: int
) -> None:
    operands = make_operands(*shape, seed)
    found, report = run_gemm(code, operands, layouts=layouts, sanitize=True)
    assert largest_error(found, operands.expected) < TOLERANCE
    assert report.findings == ()
