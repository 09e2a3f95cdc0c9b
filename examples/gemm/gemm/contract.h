// What gemm computes and how its operands lie in memory. Shared by every backend, so it includes
// nothing but <stdint.h>: device code is compiled without a C++ standard library.
//
//   out[m, n] = sum over k of  a[k, m] * a_scale[k / 128, m]  *  b[k, n] * b_scale[k / 128, n / 128]
//
//   a        K x M                                FP8 E4M3, any strides
//   b        K x N                                the same format as a, any strides
//   a_scale  ceil(K / 128) x M                    float32, any strides
//   b_scale  ceil(K / 128) x ceil(N / 128)        float32, any strides
//   out      M x N                                bfloat16, rows contiguous
//
// Sums are float32 and are rounded once, to nearest even. M, N and K may be any number >= 0; K = 0 gives
// zeros.
#pragma once

#include <stdint.h>

namespace gemm {

constexpr int64_t kScaleBlock = 128;  // values of K (and, in b_scale, of N) that share one scale

// The two E4M3 encodings. FN: bias 7, largest 448, NaN is 0x7f and 0xff. FNUZ: bias 8, largest 240,
// NaN is 0x80 (so there is no negative zero). The same byte means twice as much in FN as in FNUZ.
enum class Fp8 : int32_t { kFn, kFnuz };

// A [K, X] matrix; X is M for a, and N for b. Strides count elements.
struct Operand {
  const uint8_t* data;
  int64_t stride_k;
  int64_t stride_x;
};

// One factor per 128 values of K, and per m (a_scale) or per 128 values of n (b_scale).
struct Scale {
  const float* data;
  int64_t stride_k;
  int64_t stride_x;
};

struct Problem {
  int64_t M, N, K;
  Fp8 format;
  Operand a, b;
  Scale a_scale, b_scale;
  uint16_t* out;       // bfloat16 bits
  int64_t out_stride;  // elements from one row to the next
};

constexpr int64_t ceil_div(int64_t n, int64_t d) { return n / d + (n % d != 0); }
constexpr int64_t round_up(int64_t n, int64_t d) { return ceil_div(n, d) * d; }
static_assert(ceil_div(0, 128) == 0 && ceil_div(576, 128) == 5);

}  // namespace gemm
