"""The ready-made benchmarks, with kernels made of PyTorch's own functions."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn import functional

from kernelmill.runtime.benchmark.device import BenchmarkDevice
from kernelmill.runtime.benchmark.run import Runner, VerificationFailed
from kernelmill.runtime.benchmark.script import workloads_of
from kernelmill.spec.backend import Backend
from kernels import benchmarks

if TYPE_CHECKING:
    from torch import Tensor

    from kernelmill.runtime.benchmark import Benchmark

CLASSES = [getattr(benchmarks, name) for name in benchmarks.__all__]


def attend(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> tuple[Tensor, None]:
    scores = torch.einsum("...qhd,...khd->...hqk", q.float(), k.float()) / q.shape[-1] ** 0.5
    if causal:
        scores += torch.full(scores.shape[-2:], float("-inf")).triu(1)
    return torch.einsum("...hqk,...khd->...qhd", scores.softmax(-1), v.float()).half(), None


class Kernel(ModuleType):
    """Computes what the benchmarks call, or a little more than that."""

    def __init__(self, error: float = 0.0) -> None:
        super().__init__("kernel")
        self.error = error

    def silu_and_mul(self, out: Tensor, x: Tensor) -> None:
        gate, value = x.chunk(2, dim=-1)
        out.copy_(functional.silu(gate) * value + self.error)

    def gelu_and_mul(self, out: Tensor, x: Tensor) -> None:
        gate, value = x.chunk(2, dim=-1)
        out.copy_(functional.gelu(gate) * value + self.error)

    def dropout_add_ln_fwd(self, input: Tensor, gamma: Tensor, **options: Any) -> tuple[Tensor]:  # noqa: A002, ANN401
        x = input.float()
        if not options["is_rms_norm"]:
            x = x - x.mean(-1, keepdim=True)
        scale = (x.square().mean(-1, keepdim=True) + options["epsilon"]).rsqrt()
        return ((x * scale * gamma).half() + self.error,)

    def flash_attn_func(self, *qkv: Tensor, causal: bool) -> tuple[Tensor, None]:
        out, rest = attend(*qkv, causal=causal)
        return out + self.error, rest

    def flash_attn_varlen_func(self, *qkv: Tensor, **options: Any) -> Tensor:  # noqa: ANN401
        ends = options["cu_seqlens_q"].tolist()
        assert options["max_seqlen_k"] == 64
        parts = [
            attend(*(it[start:end] for it in qkv), causal=options["causal"])[0]
            for start, end in itertools.pairwise(ends)
        ]
        return torch.cat(parts) + self.error


@pytest.fixture
def runner() -> Runner:
    device = BenchmarkDevice(backend=Backend.CPU, torch=torch)
    return Runner(device=device, iterations=1, warmup=0)


@pytest.mark.parametrize("case", CLASSES)
def test_right_kernel_is_verified_and_wrong_one_is_not(
    case: type[Benchmark], runner: Runner
) -> None:
    class Script(case):  # type: ignore[valid-type, misc]
        """As a script extends it."""

    assert workloads_of(Script) == ("large", "medium", "small")
    assert runner._run_one(Script(), "small", Kernel())
    with pytest.raises(VerificationFailed, match="Verification failed for small: largest diff"):
        runner._run_one(Script(), "small", Kernel(error=0.5))
