"""Ready-made benchmarks of common kernels, as the original's ``kernels.benchmarks`` names them.

A script in a kernel's repository extends one of them; nothing has to be added::

    from kernels.benchmarks import SiluAndMulBenchmark

    class SiluAndMul(SiluAndMulBenchmark): ...

Each has the workloads ``small``, ``medium`` and ``large``, on the device that is benchmarked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kernelmill.runtime.benchmark import Benchmark
from kernelmill.runtime.probe import require_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Tensor = Any
"""Of PyTorch, which is imported when a benchmark is set up."""


class SizedBenchmark(Benchmark):
    """One computation in several sizes: a class says how it is set up, run and checked."""

    seed = 42
    SIZES: ClassVar[dict[str, tuple[int, ...]]] = {}
    """Workload -> the arguments of ``_prepare``."""

    def __init_subclass__(cls) -> None:
        """Make a workload of each size."""
        super().__init_subclass__()
        for name, size in cls.SIZES.items():
            setattr(cls, f"setup_{name}", _preparing(size))
            setattr(cls, f"benchmark_{name}", cls._run)
            setattr(cls, f"verify_{name}", cls._reference)

    def _prepare(self, *size: int) -> None:
        """Make the tensors."""
        raise NotImplementedError

    def _run(self) -> None:
        """Call the kernel, and leave the result in ``out``."""
        raise NotImplementedError

    def _reference(self) -> Tensor:
        """Return what ``out`` should hold."""
        raise NotImplementedError

    def _random(self, *shape: int) -> Tensor:
        """Return normal numbers, float16."""
        torch = require_torch()
        return torch.randn(*shape, device=self.device, dtype=torch.float16)


def _preparing(size: tuple[int, ...]) -> Callable[[SizedBenchmark], None]:
    def setup(self: SizedBenchmark) -> None:
        self._prepare(*size)

    return setup


class _GatedBenchmark(SizedBenchmark):
    """``f(a) * b`` for the halves of each row."""

    SIZES: ClassVar = {"small": (128, 1024), "medium": (8192, 4096), "large": (32768, 8192)}
    FUNCTION: ClassVar[str]
    """Of the kernel; called with the output and the input."""

    def _prepare(self, *size: int) -> None:
        rows, columns = size
        self.x = self._random(rows, columns)
        self.out = self._random(rows, columns // 2)

    def _run(self) -> None:
        getattr(self.kernel, self.FUNCTION)(self.out, self.x)

    def _reference(self) -> Tensor:
        gate, value = self.x.float().chunk(2, dim=-1)
        return (self._activate(gate) * value).half()

    def _activate(self, gate: Tensor) -> Tensor:
        """Return ``f`` of each number."""
        raise NotImplementedError


class SiluAndMulBenchmark(_GatedBenchmark):
    """``silu_and_mul(out, x)``."""

    FUNCTION = "silu_and_mul"

    def _activate(self, gate: Tensor) -> Tensor:
        return require_torch().nn.functional.silu(gate)


class GeluAndMulBenchmark(_GatedBenchmark):
    """``gelu_and_mul(out, x)``, with the exact GELU."""

    FUNCTION = "gelu_and_mul"

    def _activate(self, gate: Tensor) -> Tensor:
        return require_torch().nn.functional.gelu(gate)


class LayerNormBenchmark(SizedBenchmark):
    """``dropout_add_ln_fwd`` as a plain layer norm."""

    SIZES: ClassVar = {"small": (256, 768), "medium": (2048, 2048), "large": (8192, 4096)}
    eps: float = 1e-5
    IS_RMS: ClassVar = False

    def _prepare(self, *size: int) -> None:
        torch = require_torch()
        rows, columns = size
        self.x = self._random(rows, columns)
        self.weight = torch.ones_like(self.x[0])
        self.bias: Tensor = None if self.IS_RMS else torch.zeros_like(self.weight)

    def _run(self) -> None:
        self.out = self.kernel.dropout_add_ln_fwd(
            input=self.x,
            gamma=self.weight,
            beta=self.bias,
            rowscale=None,
            colscale=None,
            x0_subset=None,
            z_subset=None,
            dropout_p=0.0,
            epsilon=self.eps,
            rowscale_const=1.0,
            z_numrows=len(self.x),
            gen=None,
            residual_in_fp32=False,
            is_rms_norm=self.IS_RMS,
        )[0]

    def _reference(self) -> Tensor:
        norm = require_torch().nn.functional.layer_norm
        columns = self.x.shape[-1:]
        return norm(self.x.float(), columns, self.weight.float(), self.bias.float(), self.eps)


class RMSNormBenchmark(LayerNormBenchmark):
    """``dropout_add_ln_fwd`` as a root-mean-square norm."""

    IS_RMS = True

    def _reference(self) -> Tensor:
        x = self.x.float()
        return x * (x.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt() * self.weight


class FlashAttentionBenchmark(SizedBenchmark):
    """``flash_attn_func(q, k, v)``: [batch, length, heads, width] each."""

    SIZES: ClassVar = {
        "small": (1, 128, 8, 64),
        "medium": (4, 1024, 16, 64),
        "large": (8, 4096, 16, 128),
    }
    IS_CAUSAL: ClassVar = False

    def _prepare(self, *size: int) -> None:
        self.q, self.k, self.v = (self._random(*size) for _ in range(3))

    def _run(self) -> None:
        self.out = _first(
            self.kernel.flash_attn_func(self.q, self.k, self.v, causal=self.IS_CAUSAL)
        )

    def _reference(self) -> Tensor:
        return _attend(self.q, self.k, self.v, is_causal=self.IS_CAUSAL)


class FlashAttentionCausalBenchmark(FlashAttentionBenchmark):
    """The same, where no position sees a later one."""

    IS_CAUSAL = True


class FlashAttentionVarlenBenchmark(SizedBenchmark):
    """``flash_attn_varlen_func``: sequences of several lengths, one after the other."""

    SIZES: ClassVar = {
        "small": (32, 48, 64),
        "medium": (64, 128, 192, 256),
        "large": (256, 512, 768, 1024, 2048),
    }
    HEADS: ClassVar = 8
    WIDTH: ClassVar = 64

    def _prepare(self, *size: int) -> None:
        torch = require_torch()
        shape = sum(size), self.HEADS, self.WIDTH
        self.q, self.k, self.v = (self._random(*shape) for _ in range(3))
        self.lengths: Sequence[int] = size
        ends = torch.tensor([0, *size], device=self.device).cumsum(0)
        self.cu_seqlens = ends.to(torch.int32)

    def _run(self) -> None:
        self.out = _first(
            self.kernel.flash_attn_varlen_func(
                self.q,
                self.k,
                self.v,
                cu_seqlens_q=self.cu_seqlens,
                cu_seqlens_k=self.cu_seqlens,
                max_seqlen_q=max(self.lengths),
                max_seqlen_k=max(self.lengths),
                causal=False,
            )
        )

    def _reference(self) -> Tensor:
        parts = zip(*(it.split(self.lengths) for it in (self.q, self.k, self.v)), strict=True)
        return require_torch().cat([_attend(*part, is_causal=False) for part in parts])


def _first(result: Tensor | tuple[Tensor, ...]) -> Tensor:
    """Return the output alone: some kernels add what their backward pass needs."""
    return result[0] if isinstance(result, tuple) else result


def _attend(q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool) -> Tensor:
    """Return PyTorch's attention; heads are the dimension before the last."""
    attention = require_torch().nn.functional.scaled_dot_product_attention
    heads_first = (it.transpose(-3, -2) for it in (q, k, v))
    return attention(*heads_first, is_causal=is_causal).transpose(-3, -2)
