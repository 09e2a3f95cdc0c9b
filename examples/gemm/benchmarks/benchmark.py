"""Time gemm beside what one would write without it: dequantise, then torch.matmul.

    python benchmarks/benchmark.py [FOLDER] [--shape MxNxK]... [--repeats 9] [--json FILE]

FOLDER is this kernel repository after a build; without it the kernel comes from the Hub. Every
result is compared with a float64 product before it is timed. The contenders take turns, so that a
disturbance of the machine hits all of them; inputs are warm, as between two layers.

    kernels benchmark kernels-community/gemm@v1

times two of the shapes with the class below, and writes JSON as Hugging Face's command does.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor

from kernels.benchmark import Benchmark

BLOCK = 128
SHAPES = (
    "1024x1536x7168",
    "1024x576x7168",
    "1024x4096x512",
    "64x7168x2048",
    "32x7168x2048",
    "16x7168x2048",
    "8x7168x2048",
    "1x7168x2048",
)
OURS = "gemm"
MAX_ERROR = {  # relative, Frobenius
    OURS: 0.0018,  # rounding to bfloat16 gives 0.00166
    "float32": 0.0018,
    "bfloat16": 0.01,  # rounds each dequantised input as well
}
WARM_UPS = 1

Inputs = tuple[Tensor, Tensor, Tensor, Tensor]
Contender = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One contender at one shape."""

    contender: str
    error: float
    median_ms: float
    fastest_ms: float
    slowest_ms: float
    gflops: float
    gb_per_s: float


class Gemm(Benchmark):
    """For `kernels benchmark`: a prompt, and the tokens after it, of a layer of DeepSeek-V3."""

    seed = 0

    def setup_prompt(self) -> None:
        self.make(1024, 1536, 7168)

    def setup_tokens(self) -> None:
        self.make(16, 7168, 2048)

    def make(self, m: int, n: int, k: int) -> None:
        a, b, a_scale, b_scale = make_inputs(m, n, k, self.device)
        # The command compares with an absolute tolerance of 0.01: results have to be around one.
        self.inputs = a, b, a_scale * (0.25 / k**0.5), b_scale.sign()

    def benchmark_prompt(self) -> None:
        self.out = self.kernel.gemm(*self.inputs)

    def benchmark_tokens(self) -> None:
        self.out = self.kernel.gemm(*self.inputs)

    def verify_prompt(self) -> Tensor:
        return dequantise_and_multiply(*self.inputs, torch.float32)

    def verify_tokens(self) -> Tensor:
        return dequantise_and_multiply(*self.inputs, torch.float32)


def main() -> int:
    args = parse_arguments()
    gemm = load_kernel(args.folder, args.device)
    contenders = {
        OURS: gemm.gemm,
        "float32": lambda *x: dequantise_and_multiply(*x, torch.float32),
        "bfloat16": lambda *x: dequantise_and_multiply(*x, torch.bfloat16),
    }
    setting = describe(args.device, args.repeats)
    print(", ".join(f"{key} {value}" for key, value in setting.items()))
    print(
        f"{'shape':>15}  {'contender':<9} {'error':>8} {'median ms':>10} {'spread ms':>17}", end=""
    )
    print(f" {'GFLOP/s':>8} {'GB/s':>6} {'to gemm':>8}")
    report: dict[str, object] = {"version": 1, "setting": setting, "shapes": {}}
    for shape in args.shape or SHAPES:
        results = measure(contenders, parse_shape(shape), args.device, args.repeats)
        print_results(shape, results)
        report["shapes"][shape] = [asdict(result) for result in results]
    if args.json:
        args.json.write_text(json.dumps(report, indent=2, sort_keys=True) + "\n")
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", nargs="?", type=Path, help="kernel repository (default: the Hub)")
    parser.add_argument("--shape", action="append", metavar="MxNxK", help="may be repeated")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there")
    return parser.parse_args()


def parse_shape(text: str) -> tuple[int, int, int]:
    m, n, k = (int(size) for size in text.split("x"))
    if k % BLOCK:
        sys.exit(f"{text}: want K a multiple of {BLOCK}, which dequantising with torch needs")
    return m, n, k


def load_kernel(folder: Path | None, device: str) -> ModuleType:
    import kernels

    backend = "cpu" if device == "cpu" else None
    if folder is None:
        return kernels.get_kernel("kernels-community/gemm", backend=backend)
    return kernels.get_local_kernel(folder.resolve(), backend=backend)


def describe(device: str, repeats: int) -> dict[str, str | int]:
    """Return what the numbers depend on."""
    is_cpu = device == "cpu"
    name = torch.backends.cpu.get_cpu_capability() if is_cpu else torch.cuda.get_device_name()
    return {
        "device": f"{device} ({name})",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "warm-ups": WARM_UPS,
        "repeats": repeats,
    }


def make_inputs(m: int, n: int, k: int, device: str) -> Inputs:
    """Return random operands, stored as a linear layer does: K contiguous."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    blocks_k, blocks_n = -(-k // BLOCK), -(-n // BLOCK)
    fp8 = torch.float8_e4m3fnuz
    return (
        normal(m, k).to(fp8).to(device).t(),
        normal(n, k).to(fp8).to(device).t(),
        normal(blocks_k, m).to(device),
        normal(blocks_k, blocks_n).to(device),
    )


def dequantise_and_multiply(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, dtype: torch.dtype
) -> Tensor:
    """Do the same with torch alone: dequantise in place, block by block of K, and one matmul."""
    rows_a, rows_b = a.t().to(dtype), b.t().to(dtype)  # [M, K] and [N, K]
    scale_b = b_scale.t().repeat_interleave(BLOCK, 0)[: b.shape[1]]  # [N, K / 128]
    rows_a.unflatten(1, (-1, BLOCK)).mul_(a_scale.t().to(dtype)[:, :, None])
    rows_b.unflatten(1, (-1, BLOCK)).mul_(scale_b.to(dtype)[:, :, None])
    return (rows_a @ rows_b.t()).to(torch.bfloat16)


def exact_product(a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor) -> Tensor:
    k, n = b.shape
    scale_a = a_scale.double().repeat_interleave(BLOCK, 0)[:k]
    scale_b = b_scale.double().repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)[:k, :n]
    return (a.double() * scale_a).t() @ (b.double() * scale_b)


def measure(
    contenders: dict[str, Contender], shape: tuple[int, int, int], device: str, repeats: int
) -> list[Result]:
    """Check each contender, then time them in turns."""
    m, n, k = shape
    inputs = make_inputs(m, n, k, device)
    exact = exact_product(*inputs)
    errors = {}
    for name, run in contenders.items():
        errors[name] = ((run(*inputs).double() - exact).norm() / exact.norm()).item()
        if not errors[name] <= MAX_ERROR[name]:
            sys.exit(f"{m}x{n}x{k}: {name} is wrong, error {errors[name]}")
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(WARM_UPS + repeats):
        for name, run in contenders.items():
            elapsed_s = time_once(run, inputs)
            if turn >= WARM_UPS:
                times[name].append(elapsed_s)
    moved_bytes = m * k + n * k + 2 * m * n + 4 * (inputs[2].numel() + inputs[3].numel())
    return [
        Result(
            contender=name,
            error=errors[name],
            median_ms=statistics.median(elapsed) * 1e3,
            fastest_ms=min(elapsed) * 1e3,
            slowest_ms=max(elapsed) * 1e3,
            gflops=2e-9 * m * n * k / statistics.median(elapsed),
            gb_per_s=1e-9 * moved_bytes / statistics.median(elapsed),
        )
        for name, elapsed in times.items()
    ]


def time_once(run: Contender, inputs: Inputs) -> float:
    synchronise(inputs[0].device)
    start = time.perf_counter()
    run(*inputs)
    synchronise(inputs[0].device)
    return time.perf_counter() - start


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def print_results(shape: str, results: list[Result]) -> None:
    ours = next(result for result in results if result.contender == OURS)
    for result in results:
        spread = f"{result.fastest_ms:.2f} - {result.slowest_ms:.2f}"
        ratio = "" if result is ours else f"{result.median_ms / ours.median_ms:.2f} x"
        print(
            f"{shape:>15}  {result.contender:<9} {result.error:>8.5f} {result.median_ms:>10.2f}",
            end="",
        )
        print(f" {spread:>17} {result.gflops:>8.1f} {result.gb_per_s:>6.2f} {ratio:>8}")
        shape = ""


if __name__ == "__main__":
    sys.exit(main())
