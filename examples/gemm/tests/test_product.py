"""The product: right for every shape, layout, format and stride, and the same in each run."""

import functools
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from reference import FORMATS, Generate, Operands, assert_product, decode
from where import several_tiles

large = functools.partial(pytest.param, marks=pytest.mark.large)  # see conftest.py

# DeepSeek-R1 layers, (M, N, K): the contest's test shapes, and decoding.
CONTEST = [
    (64, 64, 128),
    large((64, 1536, 7168)),
    large((64, 3072, 1536)),
    large((64, 576, 7168)),
    large((96, 7168, 256)),
    large((96, 7168, 2048)),
    large((96, 4608, 7168)),
    large((128, 7168, 2304)),
    large((128, 512, 7168)),
    large((512, 4096, 512)),
    large((512, 1536, 7168)),
]
DECODING = [large((m, 576, 2048)) for m in (1, 8, 16, 32)]
ODD = [
    (1, 1, 1),
    (1, 1, 129),
    (2, 3, 5),
    (7, 33, 127),
    (13, 17, 128),
    (65, 129, 257),
    large((97, 576, 385)),
    large((131, 200, 1000)),
]
EMPTY = [(0, 5, 7), (5, 0, 7), (0, 0, 0), (0, 0, 7)]
LAYOUTS = [("k", "k"), ("m", "n"), ("k", "n"), ("m", "k")]  # linear layers, the contest, mixed


def run(gemm: ModuleType, operands: Operands) -> torch.Tensor:
    return gemm.gemm(*operands.as_tuple())


@pytest.mark.parametrize("layout", LAYOUTS, ids="-".join)
@pytest.mark.parametrize("shape", ODD + DECODING, ids=str)
def test_product_is_right_for_each_layout_and_format(
    gemm: ModuleType,
    generate: Generate,
    fp8: str,
    shape: tuple[int, int, int],
    layout: tuple[str, str],
) -> None:
    operands = generate(*shape, fp8, a=layout[0], b=layout[1])
    assert_product(run(gemm, operands), operands)


@pytest.mark.parametrize("layout", LAYOUTS[:2], ids="-".join)
@pytest.mark.parametrize("shape", CONTEST, ids=str)
def test_product_is_right_for_the_shapes_of_the_contest(
    gemm: ModuleType,
    generate: Generate,
    any_fp8: str,
    shape: tuple[int, int, int],
    layout: tuple[str, str],
) -> None:
    operands = generate(*shape, any_fp8, a=layout[0], b=layout[1])
    assert_product(run(gemm, operands), operands)


@pytest.mark.parametrize("shape", EMPTY, ids=str)
def test_product_is_empty_when_m_or_n_is_0(
    gemm: ModuleType, generate: Generate, any_fp8: str, shape: tuple[int, int, int]
) -> None:
    out = run(gemm, generate(*shape, any_fp8))
    assert out.shape == shape[:2]
    assert out.dtype == torch.bfloat16


def test_product_is_zero_when_k_is_0(gemm: ModuleType, generate: Generate, any_fp8: str) -> None:
    operands = generate(70, 150, 0, any_fp8)
    out = torch.full((70, 150), torch.nan, dtype=torch.bfloat16, device=operands.a.device)
    assert gemm.gemm(*operands.as_tuple(), out).count_nonzero() == 0


def test_product_is_exact_when_one_term_is_not_zero(
    gemm: ModuleType, device: torch.device, fp8: str
) -> None:
    """Every code of the format, NaN included, comes out as the value that torch gives it."""
    codes = torch.arange(256, dtype=torch.uint8).view(FORMATS[fp8])
    a = codes.reshape(1, 256).to(device)
    b = torch.ones(1, 1).to(FORMATS[fp8]).to(device)
    out = gemm.gemm(a, b, torch.ones(1, 256, device=device), torch.ones(1, 1, device=device))
    want = decode(codes).to(torch.bfloat16).reshape(256, 1)
    assert torch.equal(out.cpu().nan_to_num(nan=12345.0), want.nan_to_num(nan=12345.0))
    assert out.isnan().sum() == (2 if fp8 == "fn" else 1)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param(1 + 1 / 256, 1.0, id="tie-to-even-below"),
        pytest.param(1 + 3 / 256, 1 + 1 / 64, id="tie-to-even-above"),
        pytest.param(1 + 1 / 256 + 2**-20, 1 + 1 / 128, id="just-above-a-tie"),
        pytest.param(3.4e38, torch.inf, id="too-large"),
        pytest.param(-torch.inf, -torch.inf, id="infinite-scale"),
        pytest.param(torch.nan, torch.nan, id="nan-scale"),
    ],
)
def test_sum_is_rounded_once_to_nearest_even(
    gemm: ModuleType, device: torch.device, any_fp8: str, value: float, want: float
) -> None:
    one = torch.ones(1, 1).to(FORMATS[any_fp8]).to(device)
    scale = torch.full((1, 1), value, device=device)
    out = gemm.gemm(one, one, scale, torch.ones(1, 1, device=device))
    torch.testing.assert_close(
        out.cpu().float(), torch.tensor([[want]]), rtol=0, atol=0, equal_nan=True
    )


def test_scales_may_have_either_stride_order(
    gemm: ModuleType, generate: Generate, any_fp8: str
) -> None:
    plain = generate(130, 300, 700, any_fp8)
    turned = Operands(
        a=plain.a,
        b=plain.b,
        a_scale=plain.a_scale.t().contiguous().t(),
        b_scale=plain.b_scale.t().contiguous().t(),
    )
    assert not turned.a_scale.is_contiguous()
    assert torch.equal(run(gemm, turned), run(gemm, plain))


def test_operands_may_have_any_strides(gemm: ModuleType, generate: Generate, any_fp8: str) -> None:
    """Slices with a step, at an odd offset, and a broadcast row: nothing contiguous or aligned."""
    whole = generate(70, 150, 700, any_fp8)

    def sparse(matrix: torch.Tensor) -> torch.Tensor:
        rows, cols = matrix.shape
        memory = torch.zeros(rows * 2 + 1, cols * 3 + 1, device=matrix.device).to(matrix.dtype)
        view = memory[1::2, 1::3]
        view.copy_(matrix)
        return view

    spread = Operands(
        a=sparse(whole.a),
        b=sparse(whole.b),
        a_scale=sparse(whole.a_scale),
        b_scale=sparse(whole.b_scale),
    )
    assert torch.equal(run(gemm, spread), run(gemm, whole))

    same_row = Operands(
        a=whole.a[:1].expand(700, 70),
        b=whole.b[:, 3:4].expand(700, 150),
        a_scale=whole.a_scale,
        b_scale=whole.b_scale,
    )
    assert_product(run(gemm, same_row), same_row)


def test_out_is_filled_and_returned_when_given(
    gemm: ModuleType, generate: Generate, any_fp8: str
) -> None:
    operands = generate(70, 150, 300, any_fp8)
    out = torch.full((70, 150), torch.nan, dtype=torch.bfloat16, device=operands.a.device)
    assert gemm.gemm(*operands.as_tuple(), out) is out
    assert torch.equal(out, run(gemm, operands))


def test_nothing_else_is_written_when_out_is_a_slice(
    gemm: ModuleType, generate: Generate, any_fp8: str
) -> None:
    operands = generate(70, 150, 300, any_fp8)
    memory = torch.full((72, 160), 7.0, dtype=torch.bfloat16, device=operands.a.device)
    gemm.gemm(*operands.as_tuple(), out=memory[1:71, 5:155])
    assert torch.equal(memory[1:71, 5:155], run(gemm, operands))
    memory[1:71, 5:155] = 7.0
    assert (memory == 7.0).all()


def test_inputs_are_not_written(gemm: ModuleType, generate: Generate, any_fp8: str) -> None:
    operands = generate(70, 150, 300, any_fp8)
    before = [tensor.clone() for tensor in operands.as_tuple()]
    run(gemm, operands)
    for old, new in zip(before, operands.as_tuple(), strict=True):
        assert torch.equal(old.view(torch.uint8), new.view(torch.uint8))


@pytest.mark.parametrize("layout", LAYOUTS, ids="-".join)
def test_bits_are_the_same_in_two_runs_and_layouts(
    gemm: ModuleType, generate: Generate, any_fp8: str, layout: tuple[str, str]
) -> None:
    operands = generate(*several_tiles(), any_fp8, a=layout[0], b=layout[1])
    first = run(gemm, operands)
    assert torch.equal(run(gemm, operands), first)
    assert torch.equal(run(gemm, generate(*several_tiles(), any_fp8)), first)


def test_bits_are_the_same_for_any_number_of_threads(
    gemm: ModuleType, generate: Generate, any_fp8: str, device: torch.device
) -> None:
    if device.type != "cpu":
        pytest.skip("a GPU has threads of its own")
    operands = generate(*several_tiles(), any_fp8)
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3, 7):
            torch.set_num_threads(count)
            results.append(run(gemm, operands))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(result, results[0]) for result in results)


def test_row_does_not_depend_on_the_rows_beside_it(
    gemm: ModuleType, generate: Generate, any_fp8: str
) -> None:
    operands = generate(*several_tiles(), any_fp8)
    alone = gemm.gemm(
        operands.a[:, 77:78], operands.b, operands.a_scale[:, 77:78], operands.b_scale
    )
    assert torch.equal(alone[0], run(gemm, operands)[77])


def test_product_is_right_with_the_portable_code_too(device: torch.device) -> None:
    """Older processors take another path; torch reads once, at its start, which one to use."""
    if device.type != "cpu":
        pytest.skip("a GPU has one path")
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        pytest.skip("that is what the other tests have run")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__))]
    command += ["-k", "each_layout_and_format or one_term or rounded_once or bits_are"]
    environment = os.environ | {"ATEN_CPU_CAPABILITY": "default"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
