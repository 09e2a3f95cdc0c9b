"""The problems the demo runs: DeepSeek-R1 layers, as used by the AMD Developer Challenge 2025."""

from __future__ import annotations

from typing import Final, NamedTuple


class Shape(NamedTuple):
    """Sizes of one product: ``out[M, N] = a[K, M].T @ b[K, N]``."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def flops(self) -> int:
        """Multiplications and additions of one product."""
        return 2 * self.m * self.n * self.k


TEST_SHAPES: Final = (
    Shape(64, 64, 128),
    Shape(64, 1536, 7168),
    Shape(64, 3072, 1536),
    Shape(64, 576, 7168),
    Shape(96, 7168, 256),
    Shape(96, 7168, 2048),
    Shape(96, 4608, 7168),
    Shape(128, 7168, 2304),
    Shape(128, 512, 7168),
    Shape(512, 4096, 512),
    Shape(512, 1536, 7168),
)
BENCHMARK_SHAPES: Final = (Shape(1024, 1536, 7168), Shape(1024, 576, 7168))
DECODE_SHAPES: Final = tuple(Shape(m, 7168, 2048) for m in (1, 8, 16, 32))

EMULATED_SHAPES: Final = (
    Shape(64, 64, 128),
    Shape(33, 65, 300),
    Shape(96, 576, 1000),
    Shape(1, 576, 2048),
)
"""Small ones: an emulator executes the gfx942 code, some 100,000 instructions a second."""

SHAPES: Final = (*TEST_SHAPES, *BENCHMARK_SHAPES, *DECODE_SHAPES)
LAYOUTS: Final = ("M/N contiguous", "K contiguous")
FORMATS: Final = ("float8_e4m3fnuz", "float8_e4m3fn")
