"""Wrong calls: one error that names the argument and what to pass, from the wrapper and the op."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from reference import FORMATS, Generate, Operands
from torch import Tensor

M, N, K = 1024, 1536, 7168
Change = Callable[[Operands], Operands]


@pytest.fixture(scope="module")
def right(device: torch.device) -> Operands:
    """A right call, whose values do not matter."""
    fp8 = FORMATS["fn"] if device.type == "cpu" else FORMATS["fnuz"]
    return Operands(
        a=torch.zeros(K, M, device=device).to(fp8),
        b=torch.zeros(K, N, device=device).to(fp8),
        a_scale=torch.ones(56, M, device=device),
        b_scale=torch.ones(56, 12, device=device),
    )


SHAPES: list[tuple[str, Change, str]] = [
    (
        "a-turned",
        lambda x: replace(x, a=x.a.t()),
        "a is [1024, 7168], want [K, M] = [7168, 1024]: pass a.t()",
    ),
    (
        "b-turned",
        lambda x: replace(x, b=x.b.t()),
        "b is [1536, 7168], want [K, N] = [7168, 1536]: pass b.t()",
    ),
    (
        "both-turned",
        lambda x: replace(x, a=x.a.t(), b=x.b.t()),
        "a is [1024, 7168] and b is [1536, 7168], want [K, M] = [7168, 1024] and "
        "[K, N] = [7168, 1536]: pass a.t() and b.t()",
    ),
    (
        "k-differs",
        lambda x: replace(x, a=x.a[:100]),
        "a is [100, 1024] and b is [7168, 1536], want [K, M] and [K, N] with one K",
    ),
    (
        "a-one-dimension",
        lambda x: replace(x, a=x.a[0]),
        "a is [1024], want two dimensions, [K, M]",
    ),
    (
        "b-three-dimensions",
        lambda x: replace(x, b=x.b[None]),
        "b is [1, 7168, 1536], want two dimensions, [K, N]",
    ),
    (
        "a-scale-size",
        lambda x: replace(x, a_scale=x.a_scale[:12]),
        "a_scale is [12, 1024], want [56, 1024] = [ceil(K / 128), M]",
    ),
    (
        "a-scale-turned",
        lambda x: replace(x, a_scale=x.a_scale.t()),
        "a_scale is [1024, 56], want [56, 1024] = [ceil(K / 128), M]: pass a_scale.t()",
    ),
    (
        "b-scale-size",
        lambda x: replace(x, b_scale=x.b_scale[:, :11]),
        "b_scale is [56, 11], want [56, 12] = [ceil(K / 128), ceil(N / 128)]",
    ),
    (
        "b-scale-turned",
        lambda x: replace(x, b_scale=x.b_scale.t()),
        "b_scale is [12, 56], want [56, 12] = [ceil(K / 128), ceil(N / 128)]: pass b_scale.t()",
    ),
    (
        "b-scale-no-dimension",
        lambda x: replace(x, b_scale=x.b_scale[0, 0]),
        "b_scale is [], want two dimensions, [ceil(K / 128), ceil(N / 128)]",
    ),
]
TYPES: list[tuple[str, Change, str]] = [
    (
        "a-scale-type",
        lambda x: replace(x, a_scale=x.a_scale.double()),
        "a_scale is float64, want float32",
    ),
    (
        "b-scale-type",
        lambda x: replace(x, b_scale=x.b_scale.bfloat16()),
        "b_scale is bfloat16, want float32",
    ),
]
CPU_TYPES: list[tuple[str, Change, str]] = [
    (
        "a-type",
        lambda x: replace(x, a=x.a.float()),
        "a is float32, want float8_e4m3fn or float8_e4m3fnuz",
    ),
    (
        "a-other-fp8",
        lambda x: replace(x, a=x.a.view(torch.float8_e5m2)),
        "a is float8_e5m2, want float8_e4m3fn or float8_e4m3fnuz",
    ),
    (
        "b-other-format",
        lambda x: replace(x, b=x.b.view(torch.float8_e4m3fnuz)),
        "b is float8_e4m3fnuz, want float8_e4m3fn like a: cpu takes either",
    ),
    (
        "b-type",
        lambda x: replace(x, b=x.b.float()),
        "b is float32, want float8_e4m3fn like a: cpu takes either",
    ),
]
GFX942_TYPES: list[tuple[str, Change, str]] = [
    (
        "a-fn",
        lambda x: replace(x, a=x.a.view(torch.float8_e4m3fn)),
        "a is float8_e4m3fn, want float8_e4m3fnuz, the FP8 format of gfx942",
    ),
    (
        "b-fn",
        lambda x: replace(x, b=x.b.view(torch.float8_e4m3fn)),
        "b is float8_e4m3fn, want float8_e4m3fnuz like a",
    ),
]
OUTS: list[tuple[str, Callable[[Tensor], Tensor], type[Exception], str]] = [
    ("type", lambda x: x.float(), TypeError, "out is float32, want bfloat16"),
    ("shape", lambda x: x[:-1], ValueError, "out is [1023, 1536], want [1024, 1536] = [M, N]"),
    ("dimensions", lambda x: x[0], ValueError, "out is [1536], want two dimensions, [M, N]"),
    (
        "column-major",
        lambda x: x.t().contiguous().t(),
        ValueError,
        "out has strides [1, 1024], want row-major: [1536, 1]",
    ),
    (
        "overlapping-rows",
        lambda x: x[0].expand(1024, 1536),
        ValueError,
        "out has strides [0, 1], want row-major: [1536, 1]",
    ),
]


def message_of(error: type[Exception], call: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        call()
    assert caught.type is error
    return str(caught.value).split("\n")[0]  # C++ may add a trace


def check_both(gemm: ModuleType, wrong: Operands, error: type[Exception], message: str) -> None:
    out = torch.empty(M, N, dtype=torch.bfloat16, device=wrong.b_scale.device)
    assert message_of(error, lambda: gemm.gemm(*wrong.as_tuple())) == message
    assert message_of(error, lambda: gemm.ops.gemm(out, *wrong.as_tuple())) == message


def table(cases: list[tuple[str, Change, str]]) -> list[object]:
    return [pytest.param(change, message, id=name) for name, change, message in cases]


@pytest.mark.parametrize(("change", "message"), table(SHAPES))
def test_shape_is_refused_when_wrong(
    gemm: ModuleType, right: Operands, change: Change, message: str
) -> None:
    check_both(gemm, change(right), ValueError, message)


@pytest.mark.parametrize(("change", "message"), table(TYPES))
def test_type_is_refused_when_wrong(
    gemm: ModuleType, right: Operands, change: Change, message: str
) -> None:
    check_both(gemm, change(right), TypeError, message)


@pytest.mark.parametrize(("change", "message"), table(CPU_TYPES))
def test_format_is_refused_when_wrong_on_a_cpu(
    gemm: ModuleType, right: Operands, device: torch.device, change: Change, message: str
) -> None:
    if device.type != "cpu":
        pytest.skip("a CPU takes both formats")
    check_both(gemm, change(right), TypeError, message)


@pytest.mark.parametrize(("change", "message"), table(GFX942_TYPES))
def test_format_is_refused_when_it_is_not_the_device_s(
    gemm: ModuleType, right: Operands, device: torch.device, change: Change, message: str
) -> None:
    if device.type != "cuda":
        pytest.skip("a GPU takes one format")
    check_both(gemm, change(right), TypeError, message)


@pytest.mark.parametrize(
    ("change", "error", "message"), [pytest.param(*case[1:], id=case[0]) for case in OUTS]
)
def test_out_is_refused_when_wrong(
    gemm: ModuleType,
    right: Operands,
    change: Callable[[Tensor], Tensor],
    error: type[Exception],
    message: str,
) -> None:
    out = change(torch.empty(M, N, dtype=torch.bfloat16, device=right.a.device))
    assert message_of(error, lambda: gemm.gemm(*right.as_tuple(), out)) == message
    assert message_of(error, lambda: gemm.ops.gemm(out, *right.as_tuple())) == message


def test_device_is_refused_when_it_differs(gemm: ModuleType, right: Operands) -> None:
    wrong = replace(right, b_scale=right.b_scale.to("meta"))
    message = message_of(ValueError, lambda: gemm.gemm(*wrong.as_tuple()))
    assert message == f"b_scale is on meta, want {right.a.device} like a"


@pytest.mark.parametrize("name", ["a", "b", "a_scale", "b_scale"])
def test_gradient_is_refused_rather_than_lost(
    gemm: ModuleType, generate: Generate, any_fp8: str, name: str
) -> None:
    operands = generate(8, 16, 32, any_fp8)  # small: an emulated device computes it, too
    operands = replace(operands, **{name: getattr(operands, name).clone().requires_grad_()})
    assert message_of(RuntimeError, lambda: gemm.gemm(*operands.as_tuple())) == (
        f"{name} requires a gradient, and gemm has no backward: "
        f"pass {name}.detach(), or call it under torch.no_grad()"
    )
    with torch.no_grad():
        assert gemm.gemm(*operands.as_tuple()).shape == (8, 16)
    with torch.inference_mode():
        assert gemm.gemm(*operands.as_tuple()).shape == (8, 16)


def test_list_is_refused(gemm: ModuleType, right: Operands) -> None:
    call = lambda: gemm.gemm(right.a, [[1.0]], right.a_scale, right.b_scale)  # noqa: E731 (one use)
    assert message_of(TypeError, call) == "b is list, want torch.Tensor"


def test_sparse_matrix_is_refused(gemm: ModuleType, right: Operands) -> None:
    wrong = replace(right, a_scale=right.a_scale.to_sparse())
    message = message_of(ValueError, lambda: gemm.gemm(*wrong.as_tuple()))
    assert message == "a_scale is torch.sparse_coo, want torch.strided"


def test_out_is_refused_when_it_shares_memory_with_an_input(
    gemm: ModuleType, device: torch.device
) -> None:
    fp8 = FORMATS["fn"] if device.type == "cpu" else FORMATS["fnuz"]
    memory = torch.zeros(4096, dtype=torch.uint8, device=device)
    a, out = memory[:1024].view(fp8).view(32, 32), memory[:2048].view(torch.bfloat16).view(32, 32)
    scale = torch.ones(1, 32, device=device)
    call = lambda: gemm.ops.gemm(out, a, a.clone(), scale, scale[:, :1])  # noqa: E731 (one use)
    assert message_of(ValueError, call) == "out shares memory with a"


def test_tensor_is_refused_when_its_memory_was_taken_away(
    gemm: ModuleType, device: torch.device
) -> None:
    """Sharded training resizes storages; the tensor keeps its shape, and must not be read."""
    fp8 = FORMATS["fn"] if device.type == "cpu" else FORMATS["fnuz"]
    a, b = torch.zeros(32, 32).to(fp8).to(device), torch.zeros(32, 32).to(fp8).to(device)
    scale = torch.ones(1, 32, device=device)
    b.untyped_storage().resize_(0)
    message = message_of(ValueError, lambda: gemm.gemm(a, b, scale, scale[:, :1]))
    assert message == "b needs 1024 bytes, its storage has 0"
