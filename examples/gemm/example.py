"""Multiply two block-scaled FP8 matrices with the kernel and compare with float64.

    python example.py [FOLDER]

FOLDER is this kernel repository after a build; without it the kernel comes from the Hub.
"""

import sys
from pathlib import Path

import torch

import kernels

M, N, K = 1024, 1536, 7168
BLOCK = 128


def main() -> None:
    if len(sys.argv) > 1:
        gemm = kernels.get_local_kernel(Path(sys.argv[1]))
    else:
        gemm = kernels.get_kernel("kernels-community/gemm")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    a = normal(K, M).to(torch.float8_e4m3fnuz).to(device)
    b = normal(N, K).to(torch.float8_e4m3fnuz).to(device).t()  # a linear layer's weight
    a_scale = normal(K // BLOCK, M).to(device)
    b_scale = normal(K // BLOCK, N // BLOCK).to(device)

    c = gemm.gemm(a, b, a_scale, b_scale)

    exact_a = a.double() * a_scale.double().repeat_interleave(BLOCK, 0)
    exact_b = b.double() * b_scale.double().repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
    exact = exact_a.t() @ exact_b
    error = ((c.double() - exact).norm() / exact.norm()).item()
    print(f"{device}: c is {list(c.shape)} {c.dtype}, relative error {error:.5f}")


if __name__ == "__main__":
    main()
