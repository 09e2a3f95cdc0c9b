// FP8 block-scaled GEMM for CPUs: the readable truth of what the other backends compute (see contract.h).
//
// Work      a task is one tile of out, and all of K; tasks share nothing, so there are no barriers. Outputs
//           are summed in the order of k, whatever the tile: the same bits for any number of threads.
// Memory    for each 256 of K, the tile's part of b, then 96 rows of a at a time, are packed: turned into
//           float32, multiplied by their scale and laid out in strips as wide as the micro-kernel reads them.
//             packed b strip  256 x 16 x 4 B = 16 KiB, stays in the L1 while 96 rows of a go by
//             packed a block  256 x 96 x 4 B = 96 KiB, stays in the L2 while the strips of b go by
// Vectors   GCC vector extensions, so one text serves each instruction set: `Portable` is what the compiler
//           makes of it for the baseline (SSE2 or NEON), the others are picked at run time.
// Limits    none: edges are filled with zeros, unusual strides are gathered byte by byte.
#include "gemm_cpu.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>

// NOTE: at::parallel_for is a template that this file instantiates: without OpenMP here it compiles to a
// plain loop, silently. So compile with -fopenmp, but do not link with it: the GOMP_ symbols then come from
// the OpenMP runtime that libtorch_cpu has already loaded, whichever that is. Linking one could bring a
// second pool of threads beside torch's.
#if AT_PARALLEL_OPENMP && !defined(_OPENMP)
#error "compile with -fopenmp: torch's thread pool is OpenMP"
#endif

#define GEMM_INLINE inline __attribute__((always_inline))
// Arrays of vectors become registers only when the loops over them are gone.
#define GEMM_UNROLL _Pragma("GCC unroll 16")

namespace gemm {
namespace {

constexpr int64_t kBlockK = 256;  // depth of a packed strip
constexpr int64_t kBlockM = 96;   // rows of a packed at a time
static_assert(kBlockK % kScaleBlock == 0, "a scale must not change inside a step of the packing loop");
constexpr int64_t kSlack = 16;  // floats that pack_strip may write past the end of a buffer

// ---- tiling ----

struct Tiling {
  int64_t tile_m, tile_n;    // size of a task's tile
  int64_t count_m, count_n;  // number of tiles
};

constexpr int64_t kStepM = 12, kStepN = 32;  // tiles begin at multiples, so no strip lies in two tiles
constexpr int64_t kMaxTileM = 1024, kMaxTileN = 1024;   // 4 MiB of float32 sums
constexpr int64_t kMinTileM = kBlockM, kMinTileN = 64;  // smaller tiles would mostly pack

// Starts from the largest tiles and cuts the longer side until each thread has work twice (the second time
// evens out what the first left uneven), and as much as the others.
constexpr Tiling pick_tiling(int64_t M, int64_t N, int64_t threads) {
  int64_t count_m = ceil_div(M, kMaxTileM), count_n = ceil_div(N, kMaxTileN);
  const auto is_even = [&](int64_t tiles) { return tiles % threads == 0 || tiles > 4 * threads; };
  while (threads > 1 && (count_m * count_n < 2 * threads || !is_even(count_m * count_n))) {
    const int64_t m = ceil_div(M, count_m), n = ceil_div(N, count_n);
    if (m > n && m > kMinTileM) {
      ++count_m;
    } else if (n > kMinTileN) {
      ++count_n;
    } else if (m > kMinTileM) {
      ++count_m;
    } else {
      break;
    }
  }
  const int64_t tile_m = round_up(ceil_div(M, count_m), kStepM);
  const int64_t tile_n = round_up(ceil_div(N, count_n), kStepN);
  return {tile_m, tile_n, ceil_div(M, tile_m), ceil_div(N, tile_n)};
}
static_assert(pick_tiling(1024, 1536, 1).tile_n == 768, "one thread takes the largest even tiles");
static_assert(pick_tiling(1024, 1536, 2).tile_m == 516 && pick_tiling(1024, 1536, 2).tile_n == 768);
static_assert(pick_tiling(1, 7168, 2).tile_m == 12 && pick_tiling(1, 7168, 2).count_n == 8);
static_assert(pick_tiling(1, 1, 64).count_m * pick_tiling(1, 1, 64).count_n == 1, "an output is never split");

// One task's memory.
struct Workspace {
  explicit Workspace(const Tiling& tiling)
      : sums(allocate(round_up(tiling.tile_m, kBlockM) * tiling.tile_n)),
        packed_a(allocate(kBlockM * kBlockK)),
        packed_b(allocate(tiling.tile_n * kBlockK)) {}

  struct Free {
    void operator()(float* data) const { ::operator delete(data, kAlignment); }
  };
  using Buffer = std::unique_ptr<float[], Free>;
  static constexpr std::align_val_t kAlignment{64};
  static Buffer allocate(int64_t count) {
    return Buffer(
        static_cast<float*>(::operator new(static_cast<size_t>(count + kSlack) * sizeof(float), kAlignment)));
  }

  Buffer sums, packed_a, packed_b;
};

struct Tile {
  int64_t m0, m1, n0, n1;
};

// ---- FP8 to float32 ----

GEMM_INLINE uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

GEMM_INLINE float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// All ones where `condition` holds. NOTE: masks instead of ?:, which the compiler may turn into branches; it
// does not make vector code of a loop that skips a float operation.
GEMM_INLINE uint32_t mask(bool condition) { return 0 - static_cast<uint32_t>(condition); }

// Decodes one code, exactly. No step makes a float32 denormal, so flush-to-zero modes do not matter.
template <Fp8 kFormat>
GEMM_INLINE float decode(uint8_t code) {
  constexpr uint32_t kBias = kFormat == Fp8::kFn ? 7 : 8;
  const auto wide = static_cast<uint32_t>(static_cast<int8_t>(code));  // the sign is now bit 31
  const uint32_t magnitude = (wide << 20) & 0x07f00000;  // exponent and mantissa, where float32 has them
  const uint32_t normal = magnitude + ((127 - kBias) << 23);
  // Exponent 0 means m / 8 * 2^(1 - bias): read it as (1 + m / 8) * 2^(1 - bias), then take the 1 away again.
  const uint32_t subnormal = bits_of(float_of(normal + (1u << 23)) - float_of((128 - kBias) << 23));
  const uint32_t is_subnormal = mask(static_cast<int32_t>(magnitude) < 8 << 20);
  const uint32_t is_nan = mask(kFormat == Fp8::kFn ? magnitude == 0x07f00000 : wide == 0xffffff80);
  const uint32_t value = (subnormal & is_subnormal) | (normal & ~is_subnormal);
  return float_of(value | (wide & 0x80000000) | (is_nan & 0x7fc00000));
}

GEMM_INLINE uint16_t to_bfloat16(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;  // to nearest, ties to even
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

// ---- packing ----

// Codes of one strip that lie ready to be decoded: `row_stride` bytes from one k to the next.
struct Codes {
  const uint8_t* data;
  int64_t row_stride;
};

typedef uint8_t Bytes __attribute__((vector_size(16)));

// Copies 16 codes from each of `count` columns, `stride` bytes apart, to panel[k][kPitch], 0 past `count`.
// Each round interleaves the first half of the vectors with the second; when all columns are interleaved,
// that is the transpose.
template <int kPitch>
GEMM_INLINE void transpose_codes(const uint8_t* columns, int64_t stride, int64_t count, uint8_t* panel) {
  Bytes now[kPitch] = {}, next[kPitch];
  for (int x = 0; x < kPitch; ++x) {
    if (x < count) std::memcpy(&now[x], columns + x * stride, sizeof(Bytes));
  }
  GEMM_UNROLL for (int columns_joined = 1; columns_joined < kPitch; columns_joined *= 2) {
    GEMM_UNROLL for (int i = 0; i < kPitch / 2; ++i) {
      const Bytes first = now[i], second = now[i + kPitch / 2];
      next[2 * i] =
          __builtin_shufflevector(first, second, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      next[2 * i + 1] = __builtin_shufflevector(first, second, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                14, 30, 15, 31);
    }
    GEMM_UNROLL for (int i = 0; i < kPitch; ++i) now[i] = next[i];
  }
  std::memcpy(panel, now, sizeof now);
}

// Copies strip [k0, k0 + depth) x [x0, x0 + count) to panel[k][kPitch], 0 past `count`.
template <int kPitch>
GEMM_INLINE Codes gather_codes(const Operand& source, int64_t k0, int64_t depth, int64_t x0, int64_t count,
                               uint8_t* panel) {
  const uint8_t* columns = source.data + k0 * source.stride_k + x0 * source.stride_x;
  int64_t k = 0;
  if (source.stride_k == 1) {
    for (; k + 16 <= depth; k += 16) {
      transpose_codes<kPitch>(columns + k, source.stride_x, count, panel + k * kPitch);
    }
  }
  for (; k < depth; ++k) {
    for (int64_t x = 0; x < kPitch; ++x) {
      panel[k * kPitch + x] = x < count ? columns[k * source.stride_k + x * source.stride_x] : 0;
    }
  }
  return {panel, kPitch};
}

// Packs strip [k0, k0 + depth) x [x0, x0 + kStrip) of a [K, X] operand: packed[k][x] = value * scale, and 0
// past X. Rows are done kPitch >= kStrip values at a time; the surplus lands where the next row will be, the
// last one's up to kSlack values past the end of `packed`.
template <int kStrip, int kPitch, Fp8 kFormat>
GEMM_INLINE void pack_strip(const Operand& source, int64_t X, const Scale& scale, int64_t scale_block_x,
                            int64_t k0, int64_t depth, int64_t x0, float* __restrict packed) {
  static_assert(kStrip <= kPitch && kPitch <= kStrip + kSlack);
  uint8_t panel[kBlockK * kPitch];
  const int64_t count = std::min<int64_t>(kStrip, X - x0);
  // Rows can be decoded where they lie, but not the last ones, whose surplus would be outside the matrix.
  const Codes codes = source.stride_x == 1 && x0 + kPitch <= X
                          ? Codes{source.data + k0 * source.stride_k + x0, source.stride_k}
                          : gather_codes<kPitch>(source, k0, depth, x0, count, panel);
  for (int64_t block = 0; block < depth; block += kScaleBlock) {
    float factors[kPitch] = {};
    const float* row = scale.data + (k0 + block) / kScaleBlock * scale.stride_k;
    for (int64_t x = 0; x < count; ++x) factors[x] = row[(x0 + x) / scale_block_x * scale.stride_x];
    const int64_t end = std::min(depth, block + kScaleBlock);
    for (int64_t k = block; k < end; ++k) {
      __builtin_prefetch(codes.data + k * codes.row_stride + 64);  // the next strips' part of a far row
      for (int x = 0; x < kPitch; ++x) {
        packed[k * kStrip + x] = decode<kFormat>(codes.data[k * codes.row_stride + x]) * factors[x];
      }
    }
  }
}

// ---- multiplying ----

template <int kWidth>
struct Vector {
  typedef float Type __attribute__((vector_size(kWidth * sizeof(float))));
};

// sums[r][c] += sum over k of a[k][r] * b[k][c], for the first kUsed rows. Strips of a are kRows wide, strips
// of b two vectors.
template <int kWidth, int kRows, int kUsed>
GEMM_INLINE void multiply_strips(int64_t depth, const float* a, const float* b, float* sums, int64_t pitch) {
  typename Vector<kWidth>::Type sum[kUsed][2], left, right;
  GEMM_UNROLL for (int r = 0; r < kUsed; ++r) {
    std::memcpy(&sum[r][0], sums + r * pitch, sizeof left);
    std::memcpy(&sum[r][1], sums + r * pitch + kWidth, sizeof right);
  }
  for (int64_t k = 0; k < depth; ++k, a += kRows, b += 2 * kWidth) {
    std::memcpy(&left, b, sizeof left);
    std::memcpy(&right, b + kWidth, sizeof right);
    GEMM_UNROLL for (int r = 0; r < kUsed; ++r) {
      sum[r][0] += a[r] * left;
      sum[r][1] += a[r] * right;
    }
  }
  GEMM_UNROLL for (int r = 0; r < kUsed; ++r) {
    std::memcpy(sums + r * pitch, &sum[r][0], sizeof left);
    std::memcpy(sums + r * pitch + kWidth, &sum[r][1], sizeof right);
  }
}

// What differs between instruction sets. NOTE: `multiply` is a function of its own, since inlined into the
// loops around it the compiler keeps their constants in registers that the sums need.
#define GEMM_PATH(NAME, WIDTH, ROWS, TARGET)                                                             \
  struct NAME {                                                                                          \
    static constexpr int kWidth = WIDTH, kRows = ROWS, kCols = 2 * WIDTH;                                \
    static_assert(kBlockM % kRows == 0 && kStepM % kRows == 0 && kStepN % kCols == 0);                   \
    template <int kUsed>                                                                                 \
    __attribute__((noinline)) TARGET static void multiply(int64_t depth, const float* a, const float* b, \
                                                          float* sums, int64_t pitch) {                  \
      multiply_strips<kWidth, kRows, kUsed>(depth, a, b, sums, pitch);                                   \
    }                                                                                                    \
    template <Fp8 kFormat>                                                                               \
    TARGET static void run(const Problem& p, const Tile& tile, const Workspace& workspace) {             \
      multiply_tile<NAME, kFormat>(p, tile, workspace);                                                  \
    }                                                                                                    \
  }

// Picks the micro-kernel for `rows` rows, so that M = 1 does not pay for six.
template <class Path, int kUsed = Path::kRows>
GEMM_INLINE void multiply_rows(int64_t rows, int64_t depth, const float* a, const float* b, float* sums,
                               int64_t pitch) {
  if (rows >= kUsed) {
    Path::template multiply<kUsed>(depth, a, b, sums, pitch);
  } else if constexpr (kUsed > 1) {
    multiply_rows<Path, kUsed - 1>(rows, depth, a, b, sums, pitch);
  }
}

template <class Path, Fp8 kFormat>
GEMM_INLINE void multiply_tile(const Problem& p, const Tile& tile, const Workspace& workspace) {
  float* const sums = workspace.sums.get();
  float* const packed_a = workspace.packed_a.get();
  float* const packed_b = workspace.packed_b.get();
  const int64_t rows = tile.m1 - tile.m0, cols = tile.n1 - tile.n0, pitch = round_up(cols, Path::kCols);
  std::memset(sums, 0, static_cast<size_t>(rows * pitch) * sizeof(float));
  for (int64_t k0 = 0; k0 < p.K; k0 += kBlockK) {
    const int64_t depth = std::min(kBlockK, p.K - k0);
    for (int64_t m0 = 0; m0 < rows; m0 += kBlockM) {
      const int64_t block_rows = std::min(kBlockM, rows - m0);
      for (int64_t m = 0; m < block_rows; m += Path::kRows) {
        pack_strip<Path::kRows, round_up(Path::kRows, Path::kWidth), kFormat>(
            p.a, p.M, p.a_scale, 1, k0, depth, tile.m0 + m0 + m, packed_a + m * kBlockK);
      }
      for (int64_t n = 0; n < cols; n += Path::kCols) {
        // The first block of rows packs b just before its use; if it is the only one, in one place.
        float* const strip = packed_b + (rows > kBlockM ? n * kBlockK : 0);
        if (m0 == 0) {
          pack_strip<Path::kCols, Path::kCols, kFormat>(p.b, p.N, p.b_scale, kScaleBlock, k0, depth,
                                                        tile.n0 + n, strip);
        }
        for (int64_t m = 0; m < block_rows; m += Path::kRows) {
          multiply_rows<Path>(block_rows - m, depth, packed_a + m * kBlockK, strip,
                              sums + (m0 + m) * pitch + n, pitch);
        }
      }
    }
  }
  for (int64_t m = 0; m < rows; ++m) {
    uint16_t* row = p.out + (tile.m0 + m) * p.out_stride + tile.n0;
    for (int64_t n = 0; n < cols; ++n) row[n] = to_bfloat16(sums[m * pitch + n]);
  }
}

// ---- one path for each instruction set; sums + 2 of b + 1 of a must fit in its registers ----

GEMM_PATH(Portable, 4, 6, );
#if defined(__x86_64__)
GEMM_PATH(Avx2, 8, 6, __attribute__((target("avx2,fma"))));
GEMM_PATH(Avx512, 16, 12, __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma"))));
#endif

using Run = void (*)(const Problem&, const Tile&, const Workspace&);

// Follows torch, whose choice the environment variable ATEN_CPU_CAPABILITY (default, avx2, avx512) can lower.
template <Fp8 kFormat>
Run pick_path() {
#if defined(__x86_64__)
  const std::string capability = at::get_cpu_capability();
  if (capability == "AVX512") return Avx512::run<kFormat>;
  if (capability == "AVX2") return Avx2::run<kFormat>;
#endif
  return Portable::run<kFormat>;
}

}  // namespace

void launch_cpu(const Problem& problem) {
  if (problem.M == 0 || problem.N == 0) return;
  const int64_t threads = at::get_num_threads();
  const Tiling tiling = pick_tiling(problem.M, problem.N, threads);
  const Run run = problem.format == Fp8::kFn ? pick_path<Fp8::kFn>() : pick_path<Fp8::kFnuz>();
  const int64_t tiles = tiling.count_m * tiling.count_n;
  std::atomic<int64_t> next{0};  // tiles are taken, not dealt: a thread that was interrupted takes fewer
  at::parallel_for(0, std::min(threads, tiles), 1, [&](int64_t, int64_t) {
    const Workspace workspace(tiling);
    for (int64_t i = next++; i < tiles; i = next++) {
      const int64_t m0 = i % tiling.count_m * tiling.tile_m, n0 = i / tiling.count_m * tiling.tile_n;
      run(problem, {m0, std::min(problem.M, m0 + tiling.tile_m), n0, std::min(problem.N, n0 + tiling.tile_n)},
          workspace);
    }
  });
}

}  // namespace gemm
