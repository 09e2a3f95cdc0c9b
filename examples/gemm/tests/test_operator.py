"""The operator as a part of PyTorch: registration, fake tensors, torch.compile."""

from types import ModuleType

import pytest
import torch
from reference import Generate
from torch import Tensor


def equal_codes(allclose: object, left: Tensor, right: Tensor, **options: object) -> bool:
    """Do as torch.allclose, which has no FP8 arithmetic, for FP8 as well."""
    if left.dtype.itemsize == 1:
        return torch.equal(left.view(torch.uint8), right.view(torch.uint8))
    return allclose(left, right, **options)


@pytest.mark.parametrize("shape", [(20, 300, 300), (5, 7, 0), (0, 3, 4)], ids=str)
def test_opcheck_passes(
    gemm: ModuleType,
    generate: Generate,
    any_fp8: str,
    shape: tuple[int, int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operands = generate(*shape, any_fp8)
    out = torch.zeros(shape[:2], dtype=torch.bfloat16, device=operands.a.device)
    allclose = torch.allclose
    monkeypatch.setattr(torch, "allclose", lambda *x, **y: equal_codes(allclose, *x, **y))
    result = torch.library.opcheck(gemm.ops.gemm.default, (out, *operands.as_tuple()))
    assert set(result.values()) == {"SUCCESS"}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("has_out", [False, True], ids=["new-out", "given-out"])
def test_compiled_call_gives_the_same_bits(
    gemm: ModuleType, generate: Generate, any_fp8: str, backend: str, has_out: bool
) -> None:
    operands = generate(64, 300, 300, any_fp8)
    want = gemm.gemm(*operands.as_tuple())

    def layer(a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor) -> Tensor:
        out = a.new_empty((a.shape[1], b.shape[1]), dtype=torch.bfloat16) if has_out else None
        return gemm.gemm(a, b, a_scale, b_scale, out) * 2

    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    assert torch.equal(compiled(*operands.as_tuple()), want * 2)


def test_compiled_call_takes_other_sizes_when_dynamic(
    gemm: ModuleType, generate: Generate, any_fp8: str
) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(gemm.gemm, fullgraph=True, backend="aot_eager", dynamic=True)
    for shape in [(64, 300, 300), (65, 400, 500), (7, 129, 128)]:
        operands = generate(*shape, any_fp8)
        assert torch.equal(compiled(*operands.as_tuple()), gemm.gemm(*operands.as_tuple()))


def test_fake_call_gives_shape_and_type_without_data(gemm: ModuleType) -> None:
    a = torch.empty(300, 20, dtype=torch.float8_e4m3fnuz, device="meta")
    b = torch.empty(300, 30, dtype=torch.float8_e4m3fnuz, device="meta")
    a_scale, b_scale = torch.empty(3, 20, device="meta"), torch.empty(3, 1, device="meta")
    out = gemm.gemm(a, b, a_scale, b_scale)
    assert (out.shape, out.dtype, out.device.type) == ((20, 30), torch.bfloat16, "meta")


def test_fake_call_is_checked_too(gemm: ModuleType) -> None:
    a = torch.empty(20, 300, dtype=torch.float8_e4m3fnuz, device="meta")
    b = torch.empty(300, 30, dtype=torch.float8_e4m3fnuz, device="meta")
    scale = torch.empty(3, 20, device="meta")
    out = torch.empty(20, 30, dtype=torch.bfloat16, device="meta")
    with pytest.raises(ValueError, match=r"a is \[20, 300\], want \[K, M\] = \[300, 20\]: pass a"):
        gemm.ops.gemm(out, a, b, scale, scale)
