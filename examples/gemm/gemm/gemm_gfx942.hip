// FP8 block-scaled GEMM, gfx942 (MI300X, wave64).
//   out[m,n] = sum over k of a[k,m] sa[k/128,m] * b[k,n] sb[k/128,n/128]
//
// Work      one workgroup = one 128 x 128 tile of out, all of K; 8 waves as 2 x 4, each 64 x 32 = 4 x 2
//           fragments. For a step of 128 k: waves 0-3 fetch a, waves 4-7 fetch b, while all multiply the step
//           before it.
// Memory    LDS: two tiles of 128 rows (m or n) x 128 k, and 128 scales: 35,328 of 65,536 B. Single buffer:
//           the next step waits in registers (64 B a thread). A row takes 136 B, so that 16 rows begin in 16
//           different pairs of banks.
// Fragment  v_mfma_f32_16x16x32_fp8_fp8, lane l of 64, byte j of 8, accumulator v of 4:
//             A: row l % 16, k = 8 * (l / 16) + j      B: col l % 16, the same k
//             D: row 4 * (l / 16) + v, col l % 16      (AMD matrix instruction calculator, cdna3)
// Scaling   products of one step are summed apart, then added to the tile's float32 sums times sa[m] * sb.
// Limits    none: edges are filled with zeros and masked. 16 codes along K, M or N are fetched at once if
//           contiguous, aligned and inside the matrix; all others byte by byte.
#include <hip/hip_runtime.h>

#include "gemm_gfx942.h"

#if defined(__HIP_DEVICE_COMPILE__) && !defined(__gfx942__)
#error "this kernel is for gfx942: other devices have other FP8 formats or matrix instructions"
#endif

namespace gemm {
namespace {

constexpr int kTile = 128;    // rows and columns of out, per workgroup
constexpr int kBlockK = 128;  // k per step
constexpr int kWave = 64, kWaves = 8, kThreads = kWave * kWaves;
constexpr int kWavesN = 4;                                                    // waves side by side
constexpr int kWaveM = kTile / (kWaves / kWavesN), kWaveN = kTile / kWavesN;  // one wave's part of the tile
constexpr int kFragment = 16, kFragmentK = 32;  // rows = columns, and k, of one instruction
constexpr int kFragmentsM = kWaveM / kFragment, kFragmentsN = kWaveN / kFragment;
constexpr int kChunk = 16;              // codes fetched at once
constexpr int kChunks = 4;              // chunks per thread and step
constexpr int kRowBytes = kBlockK + 8;  // of a tile in LDS
constexpr int kTileBytes = kTile * kRowBytes;
constexpr int kLdsBytes = 2 * kTileBytes + kTile * 4, kLdsLimit = 64 * 1024;
constexpr int64_t kMaxGridM = 1 << 22, kMaxGridN = 65535;  // of one launch

static_assert(kBlockK == kScaleBlock, "one scale per step, so one promotion per step");
static_assert(kTile == kScaleBlock, "a tile has one b_scale");
static_assert(kLdsBytes <= kLdsLimit, "both tiles and the scales must fit in LDS");
static_assert(kTile * kBlockK == kThreads / 2 * kChunks * kChunk, "half the threads fetch a whole tile");
static_assert(kRowBytes % 8 == 0, "fragments are read 8 bytes at a time");
static_assert(kMaxGridM * kThreads < int64_t{1} << 32, "HIP wants fewer than 2^32 threads along x");

typedef float Float4 __attribute__((vector_size(16)));
typedef uint32_t Word4 __attribute__((vector_size(16)));

struct Lds {
  alignas(16) uint8_t tile[2][kTileBytes];  // a then b: [row][k], kRowBytes apart
  alignas(16) float scale[kTile];           // sa[m] * sb of this step
};
static_assert(sizeof(Lds) == kLdsBytes);

// What one thread fetches from: a [K, X] operand, seen from the tile of rows (values of x) at `row0`.
struct Source {
  const uint8_t* data;  // element [0, row0]
  int64_t stride_k, stride_row;
  int64_t K, rows;  // what is left of X from row0 on
  bool runs_along_k;
};

__device__ Source source_of(const Operand& operand, int64_t K, int64_t X, int64_t row0) {
  const bool runs_along_k = operand.stride_x != 1 || operand.stride_k == 1;
  const uint8_t* data = operand.data + row0 * operand.stride_x;
  return {data, operand.stride_k, operand.stride_x, K, X - row0, runs_along_k};
}

// 4 chunks of 16 codes. A chunk along k: 16 k of one row. A chunk along rows: 16 rows of one k; the thread's
// four then are four k in a row, so that they can be turned in registers into 16 rows of 4 bytes.
struct Stage {
  Word4 chunk[kChunks];
};

struct Place {
  int row, k;  // of a chunk's first code, in the tile
};

__device__ Place place_of(int thread, int chunk, bool runs_along_k) {
  if (runs_along_k) {
    constexpr int kPerRow = kBlockK / kChunk, kRowsAtOnce = kThreads / 2 / kPerRow;
    return {thread / kPerRow + chunk * kRowsAtOnce, thread % kPerRow * kChunk};
  }
  constexpr int kFours = kBlockK / kChunks;
  return {thread / kFours * kChunk, thread % kFours * kChunks + chunk};
}

__device__ int clamp_to_chunk(int64_t left) {
  return left <= 0 ? 0 : left >= kChunk ? kChunk : static_cast<int>(left);
}

// Reads the `count` first of 16 codes, `stride` bytes apart; the others are 0, which is zero in FP8 too.
__device__ Word4 fetch_chunk(const uint8_t* data, int64_t stride, int count) {
  if (count == kChunk && stride == 1 && reinterpret_cast<uintptr_t>(data) % kChunk == 0) {
    return *reinterpret_cast<const Word4*>(data);
  }
  uint64_t halves[2] = {0, 0};
#pragma unroll
  for (int h = 0; h < 2; ++h) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      // Past the end the last one is read again, and dropped: a load without a branch.
      const int at = 8 * h + i;
      const uint64_t code = count > 0 ? data[(at < count ? at : count - 1) * stride] : 0;
      halves[h] |= at < count ? code << (8 * i) : 0;
    }
  }
  return __builtin_bit_cast(Word4, halves);
}

__device__ Stage fetch(const Source& source, int64_t k0, int thread) {
  Stage stage;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const Place place = place_of(thread, c, source.runs_along_k);
    const int64_t k = k0 + place.k, rows = source.rows - place.row;
    const uint8_t* data = source.data + k * source.stride_k + place.row * source.stride_row;
    const int along_k = rows > 0 ? clamp_to_chunk(source.K - k) : 0;
    const int along_rows = k < source.K ? clamp_to_chunk(rows) : 0;
    stage.chunk[c] = fetch_chunk(data, source.runs_along_k ? source.stride_k : source.stride_row,
                                 source.runs_along_k ? along_k : along_rows);
  }
  return stage;
}

__device__ void store(const Stage& stage, uint8_t* tile, int thread, bool runs_along_k) {
  if (runs_along_k) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const Place place = place_of(thread, c, true);
      // Two halves, since rows of a tile are aligned to 8 bytes only.
      auto* to = reinterpret_cast<uint64_t*>(tile + place.row * kRowBytes + place.k);
      to[0] = stage.chunk[c][0] | static_cast<uint64_t>(stage.chunk[c][1]) << 32;
      to[1] = stage.chunk[c][2] | static_cast<uint64_t>(stage.chunk[c][3]) << 32;
    }
    return;
  }
  const Place place = place_of(thread, 0, false);
#pragma unroll
  for (int r = 0; r < kChunk; ++r) {
    uint32_t word = 0;  // row r of all four chunks
#pragma unroll
    for (int c = 0; c < kChunks; ++c) word |= (stage.chunk[c][r / 4] >> (8 * (r % 4)) & 0xff) << (8 * c);
    *reinterpret_cast<uint32_t*>(tile + (place.row + r) * kRowBytes + place.k) = word;
  }
}

// sa[m] * sb for row `thread` of the tile, in the step that begins at k0.
__device__ float fetch_scale(const Problem& p, int64_t m0, int64_t n0, int64_t k0, int thread) {
  const int64_t m = m0 + thread, block = k0 / kScaleBlock;
  if (thread >= kTile || m >= p.M) return 0.0f;
  return p.a_scale.data[block * p.a_scale.stride_k + m * p.a_scale.stride_x] *
         p.b_scale.data[block * p.b_scale.stride_k + n0 / kScaleBlock * p.b_scale.stride_x];
}

struct Sums {
  Float4 fragment[kFragmentsM][kFragmentsN];
};

// Reads the 8 codes that this lane gives to the fragment which begins at `row` and `k`.
__device__ int64_t read_fragment(const uint8_t* tile, int row, int k, int lane) {
  const uint8_t* data = tile + (row + lane % kFragment) * kRowBytes + k + 8 * (lane / kFragment);
  return *reinterpret_cast<const int64_t*>(data);
}

// Adds one step's products, scaled, to `sums`. (row, col) is where this wave's part begins in the tile.
__device__ void multiply_step(const Lds& lds, int row, int col, int lane, Sums& sums) {
  Sums raw = {};
#pragma unroll
  for (int k = 0; k < kBlockK; k += kFragmentK) {
    int64_t a[kFragmentsM], b[kFragmentsN];
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) a[i] = read_fragment(lds.tile[0], row + i * kFragment, k, lane);
#pragma unroll
    for (int j = 0; j < kFragmentsN; ++j) b[j] = read_fragment(lds.tile[1], col + j * kFragment, k, lane);
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
      for (int j = 0; j < kFragmentsN; ++j) {
        raw.fragment[i][j] =
            __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a[i], b[j], raw.fragment[i][j], 0, 0, 0);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kFragmentsM; ++i) {
    const auto scale =
        *reinterpret_cast<const Float4*>(&lds.scale[row + i * kFragment + 4 * (lane / kFragment)]);
#pragma unroll
    for (int j = 0; j < kFragmentsN; ++j) sums.fragment[i][j] += raw.fragment[i][j] * scale;
  }
}

__device__ uint16_t to_bfloat16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;  // to nearest, ties to even
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

// Writes this wave's part of out, whose first element is [m0, n0].
__device__ void write_sums(const Problem& p, const Sums& sums, int64_t m0, int64_t n0, int lane) {
#pragma unroll
  for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
    for (int j = 0; j < kFragmentsN; ++j) {
      const int64_t n = n0 + j * kFragment + lane % kFragment;
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const int64_t m = m0 + i * kFragment + 4 * (lane / kFragment) + v;
        if (m < p.M && n < p.N) p.out[m * p.out_stride + n] = to_bfloat16(sums.fragment[i][j][v]);
      }
    }
  }
}

// The tiles of this launch begin at [first_m, first_n].
__global__ void __launch_bounds__(kThreads) multiply(Problem p, int64_t first_m, int64_t first_n) {
  __shared__ Lds lds;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWave;
  // In a scalar register, and so is all that follows from it.
  const int wave = __builtin_amdgcn_readfirstlane(thread / kWave);
  const int64_t m0 = first_m + int64_t{blockIdx.x} * kTile, n0 = first_n + int64_t{blockIdx.y} * kTile;
  const int row = wave / kWavesN * kWaveM, col = wave % kWavesN * kWaveN;

  const bool fetches_a = wave < kWaves / 2;
  const int fetcher = thread % (kThreads / 2);
  const Source source = fetches_a ? source_of(p.a, p.K, p.M, m0) : source_of(p.b, p.K, p.N, n0);
  uint8_t* const fetched_tile = lds.tile[fetches_a ? 0 : 1];

  Sums sums = {};
  if (p.K > 0) {
    Stage stage = fetch(source, 0, fetcher);
    float scale = fetch_scale(p, m0, n0, 0, thread);
    for (int64_t k0 = 0; k0 < p.K; k0 += kBlockK) {
      store(stage, fetched_tile, fetcher, source.runs_along_k);
      if (thread < kTile) lds.scale[thread] = scale;
      __syncthreads();
      if (k0 + kBlockK < p.K) {
        stage = fetch(source, k0 + kBlockK, fetcher);
        scale = fetch_scale(p, m0, n0, k0 + kBlockK, thread);
      }
      multiply_step(lds, row, col, lane, sums);
      __syncthreads();
    }
  }
  write_sums(p, sums, m0 + row, n0 + col, lane);
}

}  // namespace

int launch_gfx942(const Problem& problem, void* stream) {
  const int64_t tiles_m = ceil_div(problem.M, kTile), tiles_n = ceil_div(problem.N, kTile);
  for (int64_t n = 0; n < tiles_n; n += kMaxGridN) {
    for (int64_t m = 0; m < tiles_m; m += kMaxGridM) {
      const int64_t grid_m = tiles_m - m < kMaxGridM ? tiles_m - m : kMaxGridM;
      const int64_t grid_n = tiles_n - n < kMaxGridN ? tiles_n - n : kMaxGridN;
      const dim3 grid(static_cast<uint32_t>(grid_m), static_cast<uint32_t>(grid_n));
      multiply<<<grid, dim3(kThreads), 0, static_cast<hipStream_t>(stream)>>>(problem, m * kTile, n * kTile);
      const hipError_t error = hipGetLastError();
      if (error != hipSuccess) return static_cast<int>(error);
    }
  }
  return 0;
}

}  // namespace gemm
