"""Faults planted in kernels: what is changed in the source, and how it must be reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WRONG: Final = "wrong-result"
RACE, GLOBAL_RACE = "lds-race", "global-race"
BOUNDS, LDS_BOUNDS = "out-of-bounds", "lds-out-of-bounds"
UNWRITTEN, MEMORY, DIVERGENT = "uninitialised-lds", "uninitialised-memory", "divergent-barrier"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One change of a kernel's source."""

    name: str
    old: str
    new: str
    kinds: tuple[str, ...]
    """Any of these counts as the right report."""
    occurrence: int = 0
    """Which occurrence of ``old`` is changed."""

    def plant(self, text: str) -> str:
        """Return the source with the fault in it."""
        parts = text.split(self.old)
        assert len(parts) > self.occurrence + 1, f"{self.old!r} is not in the source"
        before = self.old.join(parts[: self.occurrence + 1])
        return before + self.new + self.old.join(parts[self.occurrence + 1 :])


def _fault(name: str, old: str, new: str, *kinds: str, occurrence: int = 0) -> Fault:
    return Fault(name=name, old=old, new=new, kinds=kinds, occurrence=occurrence)


REDUCE: Final = (
    _fault("first-barrier", "__syncthreads();  // all", "// all", RACE),
    _fault("loop-barrier", "__syncthreads();  // this", "// this", RACE),
    _fault("no-mask", "i < n ? in[i] : 0.0f", "in[i]", BOUNDS),
    _fault("mask-one-more", "i < n ?", "i <= n ?", BOUNDS),
    _fault("step-one-more", "if (t < step)", "if (t <= step)", LDS_BOUNDS, RACE),
    _fault("partner-one-more", "part[t + step]", "part[t + step + 1]", LDS_BOUNDS, RACE),
    _fault("every-lane-stores", "if (t == 0) out", "out", GLOBAL_RACE),
    _fault("every-group-stores-here", "out[blockIdx.x]", "out[0]", GLOBAL_RACE),
    _fault("lds-too-small", "float part[256]", "float part[255]", LDS_BOUNDS),
    _fault("barrier-in-branch", "part[t + step];\n    __syncthreads();",
           "part[t + step], __syncthreads();\n    ", DIVERGENT, RACE),
    _fault("half-the-steps", "step = 128", "step = 64", WRONG),
    _fault("half-is-not-stored", "  part[t] = i", "  if (t < 128) part[t] = i", UNWRITTEN),
    _fault("early-return", "  part[t] = i", "  if (i >= n) return;\n  part[t] = i", DIVERGENT),
    _fault("wrong-index", "blockIdx.x * 256 + t", "blockIdx.x * 256 + (t ^ 1) * 2", BOUNDS, WRONG),
)  # fmt: skip
TRANSPOSE: Final = (
    _fault("barrier", "__syncthreads();", "", RACE, occurrence=2),
    _fault("load-without-x-mask", "x < cols && y + r < rows", "y + r < rows", BOUNDS),
    _fault("load-without-y-mask", "x < cols && y + r < rows", "x < cols", BOUNDS),
    _fault("store-without-x-mask", "tx < rows && ty + r < cols", "ty + r < cols",
           GLOBAL_RACE, BOUNDS),
    _fault("store-without-y-mask", "tx < rows && ty + r < cols", "tx < rows", BOUNDS),
    _fault("narrow-tile", "tile[32][33]", "tile[32][31]", RACE, LDS_BOUNDS),
    _fault("not-transposed", "tile[threadIdx.x][threadIdx.y + r];",
           "tile[threadIdx.y + r][threadIdx.x];", WRONG, UNWRITTEN),
    _fault("load-stops-early", "r < 32", "r < 24", UNWRITTEN),
    _fault("store-stops-early", "r < 32", "r < 24", WRONG, occurrence=1),
    _fault("load-goes-on", "r < 32", "r < 40", LDS_BOUNDS, RACE),
    _fault("load-mask-one-more", "x < cols", "x <= cols", BOUNDS),
    _fault("store-mask-one-more", "tx < rows", "tx <= rows", GLOBAL_RACE, BOUNDS),
    _fault("swapped-strides", "(ty + r) * rows + tx", "(ty + r) * cols + tx", BOUNDS, GLOBAL_RACE),
    _fault("wrong-group", "tx = blockIdx.y * 32", "tx = blockIdx.x * 32", UNWRITTEN, WRONG),
)  # fmt: skip
STENCIL: Final = (
    _fault("barrier", "__syncthreads();", "", RACE, occurrence=3),
    _fault("left-edge", "cx >= 0 && ", "", BOUNDS, WRONG),
    _fault("top-edge", "cy >= 0 && ", "", BOUNDS),
    _fault("right-edge", "cx < cols && ", "", WRONG, BOUNDS),
    _fault("bottom-edge", " && cy < rows;", ";", BOUNDS),
    _fault("halo-is-not-loaded", "i < 18 * 18", "i < 256", UNWRITTEN),
    _fault("store-without-x-mask", "if (x < cols && y < rows)", "if (y < rows)",
           GLOBAL_RACE, BOUNDS),
    _fault("store-without-y-mask", "if (x < cols && y < rows)", "if (x < cols)", BOUNDS),
    _fault("off-by-one", "cell[ty + 2][tx + 1]", "cell[ty + 3][tx + 1]", LDS_BOUNDS, WRONG),
    _fault("small-tile", "cell[18][18]", "cell[17][18]", LDS_BOUNDS),
    _fault("neighbour", "i % 18 - 1", "i % 18", WRONG),
    _fault("same-tile", "y = blockIdx.y * 16 + ty;", "y = ty;", GLOBAL_RACE),
)  # fmt: skip
GEMM: Final = (
    _fault("barrier-before-products", "__syncthreads();\n      if (k0", "if (k0", RACE),
    _fault("barrier-after-products", "__syncthreads();\n    }", "}", RACE),
    _fault("m-mask", "if (m < p.M && n < p.N)", "if (n < p.N)", BOUNDS),
    _fault("n-mask", "if (m < p.M && n < p.N)", "if (m < p.M)", GLOBAL_RACE, BOUNDS),
    _fault("row-map", "4 * (lane / kFragment) + v;", "4 * (lane / kFragment) + 3 - v;", WRONG),
    _fault("k-map", "k + 8 * (lane / kFragment)", "k + 8 * (3 - lane / kFragment) % 24",
           WRONG, UNWRITTEN),
    _fault("scale-of-other-rows", "4 * (lane / kFragment)]", "4 * (lane % 4)]", WRONG),
    _fault("k-edge", "clamp_to_chunk(source.K - k) : 0", "kChunk : 0", BOUNDS, WRONG),
    _fault("row-edge", "rows > 0 ?", "true ?", BOUNDS),
    _fault("scale-rows", "thread >= kTile || m >= p.M", "thread >= kTile", BOUNDS),
    _fault("scale-is-late",
           "if (thread < kTile) lds.scale[thread] = scale;\n      __syncthreads();",
           "__syncthreads();\n      if (thread < kTile) lds.scale[thread] = scale;", RACE),
    _fault("scale-of-half", "if (thread < kTile) lds", "if (thread < kTile / 2) lds", UNWRITTEN),
    _fault("stale-stage", "stage = fetch(source, k0 + kBlockK, fetcher);", "", WRONG),
    _fault("wave-rows", "row = wave / kWavesN * kWaveM", "row = wave % kWavesN * kWaveN", WRONG,
           GLOBAL_RACE),
    _fault("overlapping-rows", "kRowBytes = kBlockK + 8;", "kRowBytes = kBlockK - 8;", RACE),
)  # fmt: skip
