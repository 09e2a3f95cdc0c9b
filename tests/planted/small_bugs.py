"""Bugs in the source of the small kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.planted.values import WRONG_RESULT, Bug

if TYPE_CHECKING:
    from collections.abc import Iterable

RACE, LDS_SIZE, UNWRITTEN = "lds-race", "lds-out-of-bounds", "uninitialised-lds"
GLOBAL_RACE, OUTSIDE, DIVERGENT = "global-race", "out-of-bounds", "divergent-barrier"
REGISTER, HAZARD, WAIT = "uninitialised-register", "mfma-hazard", "missing-wait"

Row = tuple[str, str, str, frozenset[str]]
"""What is wrong, old text, new text, kinds of report."""


def one(*kinds: str) -> frozenset[str]:
    """Return the kinds of which one has to come."""
    return frozenset(kinds)


def without(barrier: str) -> tuple[str, str]:
    """Return the edit that removes the barrier with this comment."""
    return f"__syncthreads();  // {barrier}", f"// {barrier}"


def bugs(program: str, rows: Iterable[Row]) -> tuple[Bug, ...]:
    """Return the bugs of one program."""
    return tuple(
        Bug(program=program, name=name, edits=((old, new),), kinds=kinds)
        for name, old, new, kinds in rows
    )


REDUCTION: Final[tuple[Row, ...]] = (
    ("no barrier before the tree", *without("the partial sums are there"), one(RACE)),
    ("no barrier between levels", *without("a level of the tree is done"), one(RACE)),
    ("rows past the end", "if (row >= rows) break;", "", one(OUTSIDE)),
    ("a column too many", "i < columns", "i <= columns", one(OUTSIDE)),
    ("every thread adds", "if (t < step) part", "part", one(LDS_SIZE)),
    ("LDS is one value short", "part[kThreads];", "part[kThreads - 1];", one(LDS_SIZE)),
    (
        "the tree begins a level late",
        "step = kThreads / 2;",
        "step = kThreads / 4;",
        one(WRONG_RESULT),
    ),
    ("the tree ends a level early", "step > 0;", "step > 1;", one(WRONG_RESULT)),
    ("the tree reaches one too far", "part[t + step]", "part[t + step + 1]", one(LDS_SIZE)),
    ("the sum begins with anything", "float sum = 0.0f;", "float sum;", one(REGISTER)),
    (
        "some partial sums are not stored",
        "part[t] = sum;",
        "if (t < 200) part[t] = sum;",
        one(UNWRITTEN),
    ),
    ("the sum goes to the next row", "out[row] = part[0]", "out[row + 1] = part[0]", one(OUTSIDE)),
    ("every wave writes the sum", "if (t == 0) out", "out", one(GLOBAL_RACE)),
    (
        "rows are one value too far apart",
        "in[row * columns",
        "in[row * (columns + 1)",
        one(OUTSIDE),
    ),
    (
        "a barrier for the threads that add",
        "part[t] += part[t + step];\n      __syncthreads();",
        "{ part[t] += part[t + step]; __syncthreads(); }",
        one(DIVERGENT),
    ),
)

TRANSPOSE: Final[tuple[Row, ...]] = (
    ("no barrier after the load", *without("the tile is there"), one(RACE)),
    (
        "no barrier before the next tile",
        *without("the tile was read, the next one may come"),
        one(RACE),
    ),
    (
        "rows past the end are read",
        "if (row < rows && column < columns) tile",
        "if (column < columns) tile",
        one(OUTSIDE),
    ),
    (
        "columns past the end are read",
        "if (row < rows && column < columns) tile",
        "if (row < rows) tile",
        one(OUTSIDE),
    ),
    (
        "rows past the end are written",
        "if (row < rows && column < columns) out",
        "if (column < columns) out",
        one(GLOBAL_RACE, OUTSIDE),
    ),
    (
        "columns past the end are written",
        "if (row < rows && column < columns) out",
        "if (row < rows) out",
        one(OUTSIDE),
    ),
    ("rows of the tile overlap", "kPitch = kTile + 1;", "kPitch = kTile - 1;", one(RACE)),
    (
        "the tile has no room for its padding",
        "tile[kTile * kPitch];",
        "tile[kTile * kTile];",
        one(LDS_SIZE),
    ),
    (
        "the tile is read one value off",
        "tile[x * kPitch + c]",
        "tile[x * kPitch + c + 1]",
        one(UNWRITTEN),
    ),
    (
        "the tile is read as it was written",
        "tile[x * kPitch + c]",
        "tile[c * kPitch + x]",
        one(WRONG_RESULT),
    ),
    (
        "out has the wrong pitch",
        "out[column * rows + row]",
        "out[column * columns + row]",
        one(OUTSIDE),
    ),
    (
        "stripes leave rows out",
        "r < kTile; r += kStripe",
        "r < kTile; r += kStripe + 1",
        one(UNWRITTEN),
    ),
    (
        "tiles of two workgroups overlap",
        "blockIdx.x * kTile;",
        "blockIdx.x * (kTile - 1);",
        one(GLOBAL_RACE),
    ),
    (
        "a barrier for the upper waves only",
        "__syncthreads();  // the tile is there",
        "if (y < 6) __syncthreads();",
        one(DIVERGENT),
    ),
)

SWIZZLE: Final[tuple[Row, ...]] = (
    ("no barrier after the load", *without("the tile is there"), one(RACE)),
    (
        "the tile is read without swizzle",
        "tile[place(lane, c)]",
        "tile[lane * kTile + c]",
        one(WRONG_RESULT),
    ),
    (
        "the tile is read with another swizzle",
        "tile[place(lane, c)]",
        "tile[place(lane, c ^ 1)]",
        one(WRONG_RESULT),
    ),
    (
        "the tile is written a row down",
        "tile[place(r, lane)]",
        "tile[place(r + 1, lane)]",
        one(LDS_SIZE),
    ),
    (
        "the swizzle leaves the row",
        "(column ^ (row % 32))",
        "(column + row % 32)",
        one(RACE, LDS_SIZE),
    ),
    (
        "tiles are one row too far apart",
        "row0 = blockIdx.y * kTile",
        "row0 = blockIdx.y * (kTile + 1)",
        one(OUTSIDE),
    ),
    ("tiles are written over each other", "out[(column0 + c)", "out[c", one(GLOBAL_RACE)),
    (
        "a barrier for three waves",
        "__syncthreads();  // the tile is there",
        "if (wave < 3) __syncthreads();",
        one(DIVERGENT),
    ),
)

STENCIL: Final[tuple[Row, ...]] = (
    ("no barrier after the load", *without("tile and halo are there"), one(RACE)),
    ("no halo on the left", "if (tx == 0) at[-1]", "if (false) at[-1]", one(UNWRITTEN)),
    (
        "no halo on the right",
        "if (tx == kWidth - 1) at[1]",
        "if (tx == kWidth) at[1]",
        one(UNWRITTEN),
    ),
    ("no halo above", "if (ty == 0) at[-kPitch]", "if (ty < 0) at[-kPitch]", one(UNWRITTEN)),
    (
        "no halo below",
        "if (ty == kHeight - 1) at[kPitch]",
        "if (ty == kHeight) at[kPitch]",
        one(UNWRITTEN),
    ),
    ("x below 0 is read", "if (x < 0) return 0.0f;", "", one(OUTSIDE)),
    ("y below 0 is read", "if (y < 0) return 0.0f;", "", one(OUTSIDE)),
    ("x past the width is read", "if (x >= width) return 0.0f;", "", one(OUTSIDE)),
    ("y past the height is read", "if (y >= height) return 0.0f;", "", one(OUTSIDE)),
    (
        "one x past the width is read",
        "if (x >= width) return 0.0f;",
        "if (x > width) return 0.0f;",
        one(WRONG_RESULT, OUTSIDE),
    ),
    ("x past the width is written", "if (x >= width) return;", "", one(GLOBAL_RACE)),
    ("y past the height is written", "if (y >= height) return;", "", one(OUTSIDE)),
    (
        "LDS has no room for the halo",
        "field[kLines * kPitch];",
        "field[kHeight * kPitch];",
        one(LDS_SIZE),
    ),
    (
        "LDS rows have room for half the halo",
        "kPitch = kWidth + 2 * kHalo,",
        "kPitch = kWidth + kHalo,",
        one(RACE),
    ),
    (
        "the right halo is stored one too far",
        "at[1] = fetch",
        "at[2] = fetch",
        one(UNWRITTEN, RACE),
    ),
    (
        "the left halo is the wrong column",
        "fetch(in, x - 1, y",
        "fetch(in, x - 2, y",
        one(WRONG_RESULT),
    ),
    (
        "the point above is counted for the one below",
        "at[-kPitch] + at[kPitch]);",
        "at[-kPitch] + at[-kPitch]);",
        one(WRONG_RESULT),
    ),
    ("out is one row down", "out[y * width + x]", "out[(y + 1) * width + x]", one(OUTSIDE)),
    (
        "waves leave before the barrier",
        "  __syncthreads();  // tile and halo are there\n  if (x >= width) return;\n"
        "  if (y >= height) return;",
        "  if (y >= height) return;\n  __syncthreads();\n  if (x >= width) return;",
        one(DIVERGENT),
    ),
)

HISTOGRAM: Final[tuple[Row, ...]] = (
    ("no barrier after the counters are cleared", *without("the counters are 0"), one(RACE)),
    ("no barrier before the counters are added", *without("all bytes are counted"), one(RACE)),
    ("the counters are not cleared", "own[t] = 0;", "", one(UNWRITTEN)),
    ("a byte too many", "i < n;", "i <= n;", one(OUTSIDE)),
    ("LDS counters without atomics", "atomicAdd(&own[in[i]], 1u);", "own[in[i]] += 1;", one(RACE)),
    (
        "global counters without atomics",
        "atomicAdd(&counts[t], mine);",
        "counts[t] += mine;",
        one(GLOBAL_RACE),
    ),
    ("one counter without atomics", "atomicAdd(ended, 1u);", "*ended += 1;", one(GLOBAL_RACE)),
    ("every thread says it ended", "if (t == 0) atomicAdd", "atomicAdd", one(WRONG_RESULT)),
    ("a counter too few", "own[kBins];", "own[kBins - 1];", one(LDS_SIZE)),
    ("counters are one off", "&own[in[i]]", "&own[in[i] + 1]", one(LDS_SIZE)),
    (
        "workgroups count the same bytes",
        "i = blockIdx.x * kThreads + t; i < n",
        "i = t; i < n",
        one(WRONG_RESULT),
    ),
    ("global counters are one off", "&counts[t]", "&counts[t + 1]", one(OUTSIDE)),
)

MATRIX: Final[tuple[Row, ...]] = (
    ("the matrix result is read at once", '"s_nop 6\\n"\n', "", one(HAZARD)),
    ("one wait state too few", '"s_nop 6\\n"', '"s_nop 5\\n"', one(HAZARD)),
    ("operands are not waited for", '"s_waitcnt vmcnt(0)\\n"\n', "", one(WAIT)),
    (
        "only one operand is waited for",
        '"s_waitcnt vmcnt(0)\\n"',
        '"s_waitcnt vmcnt(1)\\n"',
        one(WAIT),
    ),
    (
        "LDS is not waited for before the barrier",
        '"s_waitcnt lgkmcnt(0)\\n"\n      "s_barrier\\n"',
        '"s_barrier\\n"',
        one(WAIT),
    ),
    ("no barrier", '      "s_barrier\\n"\n', "", one(RACE)),
    ("what LDS gives is not waited for", '"s_waitcnt lgkmcnt(0)\\n"\n        :', ":", one(WAIT)),
    (
        "a takes the wrong rows",
        "a + blockIdx.x * kSize * kDepth * kWaves + lane % kSize",
        "a + blockIdx.x * kSize * kDepth * kWaves + lane / 4",
        one(WRONG_RESULT),
    ),
    (
        "b takes the wrong columns",
        "b + blockIdx.x * kSize * kDepth * kWaves + lane % kSize",
        "b + blockIdx.x * kSize * kDepth * kWaves + (lane ^ 1) % kSize",
        one(WRONG_RESULT),
    ),
    (
        "a lane takes the wrong k",
        "4 * (lane / kSize);\n  const",
        "4 * (lane % 4);\n  const",
        one(WRONG_RESULT),
    ),
    (
        "the result is transposed",
        "to[(4 * (lane / kSize) + v) * kSize + lane % kSize]",
        "to[4 * (lane / kSize) + v + lane % kSize * kSize]",
        one(WRONG_RESULT),
    ),
    ("every wave writes the result", "if (wave != 0) return;", "", one(GLOBAL_RACE)),
    (
        "LDS has no room for the last wave",
        "left[kWaves][kWave]",
        "left[kWaves - 1][kWave]",
        one(LDS_SIZE),
    ),
    ("a wave too many is added", "other < kWaves", "other <= kWaves", one(LDS_SIZE)),
    ("wave 0 is added twice", "int other = 1", "int other = 0", one(WRONG_RESULT)),
    (
        # Not with "anything": a register that once held half an address may be as good as zero.
        "the sum begins with one",
        "Float4 sum = {};",
        "Float4 sum = {1.0f, 1.0f, 1.0f, 1.0f};",
        one(WRONG_RESULT),
    ),
    ("products of two workgroups are one", "c + blockIdx.x * kSize * kSize", "c", one(GLOBAL_RACE)),
)

SCAN: Final[tuple[Row, ...]] = (
    ("no barrier after the load", *without("the values are there"), one(RACE)),
    ("no barrier between steps", *without("a step is done"), one(RACE)),
    (
        "columns past the end are read",
        "t < columns ? in[blockIdx.x * columns + t] : 0",
        "in[blockIdx.x * columns + t]",
        one(OUTSIDE),
    ),
    ("columns past the end are written", "if (t < columns) out", "out", one(GLOBAL_RACE)),
    (
        "a column too many is written",
        "if (t < columns) out",
        "if (t <= columns) out",
        one(GLOBAL_RACE),
    ),
    (
        "values before the first are added",
        "t >= distance ? from[t] + from[t - distance] : from[t]",
        "from[t] + from[t - distance]",
        one(LDS_SIZE),
    ),
    ("one buffer instead of two", "int* to = sums[1];", "int* to = sums[0];", one(RACE)),
    ("the buffers overlap", "sums[2][kThreads];", "sums[2][kThreads - 1];", one(LDS_SIZE)),
    ("the buffers are not swapped", "    from = to;\n", "", one(WRONG_RESULT)),
    ("a step is left out", "distance *= 2", "distance *= 4", one(WRONG_RESULT)),
    ("a neighbour too near", "from[t - distance]", "from[t - distance + 1]", one(WRONG_RESULT)),
    (
        "a barrier for the threads that add",
        "    __syncthreads();  // a step is done",
        "    if (t >= distance) __syncthreads();",
        one(DIVERGENT),
    ),
)

BUGS: Final = (
    *bugs("reduction", REDUCTION),
    Bug(
        program="reduction",
        name="no barrier before the next row",
        kinds=frozenset(),
        edits=(without("part[0] was read, the next row may write"),),
        equivalent="only wave 0 reads part[0], and only wave 0 writes it after that",
    ),
    *bugs("transpose", TRANSPOSE),
    *bugs("swizzle", SWIZZLE),
    *bugs("stencil", STENCIL),
    *bugs("histogram", HISTOGRAM),
    *bugs("matrix", MATRIX),
    *bugs("scan", SCAN),
)
