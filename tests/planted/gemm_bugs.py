"""Bugs in the source of the flagship."""

from __future__ import annotations

from typing import Final

from tests.planted.values import WRONG_RESULT, Bug

EDGES, TRANSPOSED = "edges", "transposed"
STORE_MASK: Final = "if (m < p.M && n < p.N) p.out"
ALONG_K: Final = "const int along_k = rows > 0 ? clamp_to_chunk(source.K - k) : 0;"
STALE: Final = ("uninitialised-register", WRONG_RESULT)
ALONG_ROWS: Final = "const int along_rows = k < source.K ? clamp_to_chunk(rows) : 0;"


def bug(name: str, old: str, new: str, *kinds: str, equivalent: str = "") -> Bug:
    """Return a bug that replaces ``old`` by ``new``."""
    return Bug(
        program="gemm", name=name, edits=((old, new),), kinds=frozenset(kinds),
        equivalent=equivalent,
    )  # fmt: skip


BARRIERS: Final = (
    bug(
        "no barrier after the tiles are stored",
        "__syncthreads();\n      if (k0 + kBlockK < p.K) {",
        "if (k0 + kBlockK < p.K) {",
        "lds-race",
    ),
    bug(
        "no barrier before the tiles are stored again",
        "multiply_step(lds, row, col, lane, sums);\n      __syncthreads();",
        "multiply_step(lds, row, col, lane, sums);",
        "lds-race",
    ),
    bug(
        "a barrier for the waves that fetch a only",
        "__syncthreads();\n      if (k0 + kBlockK < p.K) {",
        "if (fetches_a) __syncthreads();\n      if (k0 + kBlockK < p.K) {",
        "divergent-barrier",
    ),
)

MASKS: Final = (
    bug("rows past M are written", STORE_MASK, "if (n < p.N) p.out", "out-of-bounds"),
    bug("columns past N are written", STORE_MASK, "if (m < p.M) p.out", "global-race"),
    bug(
        "one row too many is written", STORE_MASK, "if (m <= p.M && n < p.N) p.out", "out-of-bounds"
    ),
    bug(
        "one column too many is written",
        STORE_MASK,
        "if (m < p.M && n <= p.N) p.out",
        "global-race",
    ),
    bug(
        "k past K is fetched, along k",
        ALONG_K,
        "const int along_k = rows > 0 ? kChunk : 0;",
        "out-of-bounds",
    ),
    bug(
        "rows past the matrix are fetched, along k",
        ALONG_K,
        "const int along_k = clamp_to_chunk(source.K - k);",
        "out-of-bounds",
    ),
    bug(
        "k past K is fetched, along rows",
        ALONG_ROWS,
        "const int along_rows = clamp_to_chunk(rows);",
        "out-of-bounds",
    ),
    bug(
        "rows past the matrix are fetched, along rows",
        ALONG_ROWS,
        "const int along_rows = k < source.K ? kChunk : 0;",
        "out-of-bounds",
    ),
    bug(
        "one code too many of a chunk that is cut off",
        "left >= kChunk ? kChunk : static_cast<int>(left)",
        "left >= kChunk ? kChunk : static_cast<int>(left) + 1",
        "out-of-bounds",
    ),
    bug(
        "codes past the end of a chunk are read, and dropped",
        "data[(at < count ? at : count - 1) * stride]",
        "data[at * stride]",
        "out-of-bounds",
    ),
    bug(
        "scales past M are read",
        "if (thread >= kTile || m >= p.M) return 0.0f;",
        "if (thread >= kTile) return 0.0f;",
        "out-of-bounds",
    ),
    bug(
        "threads past the tile read scales",
        "if (thread >= kTile || m >= p.M) return 0.0f;",
        "if (m >= p.M) return 0.0f;",
        equivalent="they read scales of other rows, inside the matrix, and use them for nothing",
    ),
    bug(
        "threads past the tile write scales",
        "if (thread < kTile) lds.scale[thread] = scale;",
        "lds.scale[thread] = scale;",
        "lds-out-of-bounds",
    ),
    bug(
        "a step past K is fetched",
        "if (k0 + kBlockK < p.K) {",
        "if (k0 <= p.K) {",
        "out-of-bounds",
    ),
    bug(
        "the last step is left out when it is partial",
        "for (int64_t k0 = 0; k0 < p.K; k0 += kBlockK) {",
        "for (int64_t k0 = 0; k0 + kBlockK <= p.K; k0 += kBlockK) {",
        WRONG_RESULT,
    ),
)

LANES: Final = (
    bug(
        "a and b take the wrong rows of a fragment",
        "(row + lane % kFragment) * kRowBytes",
        "(row + lane / 4) * kRowBytes",
        WRONG_RESULT,
    ),
    bug(
        "a and b take the wrong k of a fragment",
        "* kRowBytes + k + 8 * (lane / kFragment);",
        "* kRowBytes + k + 8 * (lane % 4);",
        WRONG_RESULT,
    ),
    bug(
        "b's columns are taken in the wrong order",
        "b[j] = read_fragment(lds.tile[1], col + j * kFragment, k, lane);",
        "b[j] = read_fragment(lds.tile[1], col + j * kFragment, k, lane ^ 1);",
        WRONG_RESULT,
    ),
    bug(
        "a's k are taken in the wrong order",
        "a[i] = read_fragment(lds.tile[0], row + i * kFragment, k, lane);",
        "a[i] = read_fragment(lds.tile[0], row + i * kFragment, k, lane ^ 16);",
        WRONG_RESULT,
    ),
    bug(
        "a and b are swapped",
        "mfma_f32_16x16x32_fp8_fp8(a[i], b[j],",
        "mfma_f32_16x16x32_fp8_fp8(b[j], a[i],",
        WRONG_RESULT,
    ),
    bug(
        "rows of a result are taken in the wrong order",
        "m0 + i * kFragment + 4 * (lane / kFragment) + v;",
        "m0 + i * kFragment + lane / kFragment + 4 * v;",
        WRONG_RESULT,
    ),
    bug(
        "columns of a result are taken in the wrong order",
        "n0 + j * kFragment + lane % kFragment;",
        "n0 + j * kFragment + (lane ^ 1) % kFragment;",
        WRONG_RESULT,
    ),
    bug(
        "scales are those of other rows",
        "&lds.scale[row + i * kFragment + 4 * (lane / kFragment)]",
        "&lds.scale[row + i * kFragment]",
        WRONG_RESULT,
    ),
)

INDICES: Final = (
    bug(
        "a_scale of the next step",
        "block = k0 / kScaleBlock;",
        "block = k0 / kScaleBlock + 1;",
        "out-of-bounds",
    ),
    bug(
        "b_scale of the next block of columns",
        "n0 / kScaleBlock * p.b_scale",
        "(n0 / kScaleBlock + 1) * p.b_scale",
        "out-of-bounds",
    ),
    bug(
        "scales are fetched a step late",
        "scale = fetch_scale(p, m0, n0, k0 + kBlockK, thread);",
        "scale = fetch_scale(p, m0, n0, k0, thread);",
        WRONG_RESULT,
    ),
    bug(
        "a tile's first row is off by one",
        "int64_t{blockIdx.x} * kTile",
        "int64_t{blockIdx.x} * (kTile - 1)",
        "global-race",
    ),
    bug(
        "out is written transposed",
        "p.out[m * p.out_stride + n]",
        "p.out[n * p.out_stride + m]",
        WRONG_RESULT,
    ),
    bug(
        "out is written one row down",
        "p.out[m * p.out_stride + n]",
        "p.out[(m + 1) * p.out_stride + n]",
        "out-of-bounds",
    ),
    bug(
        "a tile begins at the wrong stride",
        "operand.data + row0 * operand.stride_x",
        "operand.data + row0 * operand.stride_k",
        WRONG_RESULT,
        "out-of-bounds",
    ),
    bug(
        "both halves of the threads store to a's tile",
        "lds.tile[fetches_a ? 0 : 1]",
        "lds.tile[0]",
        "lds-race",
        "uninitialised-lds",
    ),
    bug(
        "threads fetch their neighbour's place",
        "const int fetcher = thread % (kThreads / 2);",
        "const int fetcher = thread % (kThreads / 2) + 1;",
        "uninitialised-lds",
        "lds-race",
    ),
    bug(
        "waves side by side compute the same columns",
        "wave % kWavesN * kWaveN",
        "wave / kWavesN * kWaveN",
        "global-race",
    ),
    bug(
        "rows of a tile in LDS overlap",
        "kRowBytes = kBlockK + 8;",
        "kRowBytes = kBlockK - 8;",
        "lds-race",
    ),
    bug(
        "tiles in LDS are not padded",
        "kRowBytes = kBlockK + 8;",
        "kRowBytes = kBlockK;",
        equivalent="rows are dense then, and each is still its own: only banks conflict",
    ),
    bug(
        "a tile in LDS is a row short",
        "kTileBytes = kTile * kRowBytes;",
        "kTileBytes = (kTile - 1) * kRowBytes;",
        "lds-race",
    ),
    bug(
        "rows turned in registers are stored a row down",
        "tile + (place.row + r) * kRowBytes",
        "tile + (place.row + r + 1) * kRowBytes",
        "lds-race",
        "uninitialised-lds",
    ),
    bug(
        "bytes turned in registers are in the wrong order",
        "<< (8 * c);\n    *reinterpret_cast",
        "<< (8 * (3 - c));\n    *reinterpret_cast",
        WRONG_RESULT,
    ),
    # Registers may hold what is left of an earlier value: that shows in the result only.
    bug("sums begin with anything", "Sums sums = {};", "Sums sums;", *STALE),
    bug("a step's sums begin with anything", "Sums raw = {};", "Sums raw;", *STALE),
)

BUGS: Final = (*BARRIERS, *MASKS, *LANES, *INDICES)
