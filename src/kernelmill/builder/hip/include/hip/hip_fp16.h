// float16, for cross-compilation without a ROCm SDK: __half and __half2 (also half, half2), conversions
// to and from float, double, int and bits, + - * / and comparisons, and CUDA's functions of them:
// __hadd __hsub __hmul __hdiv __hfma __hneg __habs __hmax __hmin __heq ... __hge __hisnan, most with a 2
// for pairs; hexp hlog hsqrt hrsqrt hrcp. Anything else is not there.
#pragma once

#include <hip/hip_runtime.h>

#if defined(__HIP__)
namespace kernelmill_hip {
static inline __host__ __device__ float from_half(unsigned short bits) {
#if defined(__HIP_DEVICE_COMPILE__)
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
#else
  // Integers only: compilers lack the conversion's library function in places.
  const unsigned sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest >= 0x7c00) return __builtin_bit_cast(float, sign | 0x7f800000u | (rest & 0x3ff) << 13);
  if (rest < 0x400) return (sign ? -1.0f : 1.0f) * static_cast<float>(rest) * 5.9604644775390625e-8f;
  return __builtin_bit_cast(float, sign | ((rest << 13) + 0x38000000u));
#endif
}
static inline __host__ __device__ unsigned short to_half(float value) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __builtin_bit_cast(unsigned short, static_cast<_Float16>(value));
#else
  const unsigned bits = __builtin_bit_cast(unsigned, value), sign = bits >> 16 & 0x8000;
  const unsigned size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7e00);
  if (size >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00);
  if (size < 0x38800000u)  // below the least normal one: counted in steps of 2^-24, to nearest even
    return static_cast<unsigned short>(
        sign | (__builtin_bit_cast(unsigned, __builtin_bit_cast(float, size) + 0.5f) - 0x3f000000u));
  return static_cast<unsigned short>(sign | ((size + 0xfff + (size >> 13 & 1) - 0x38000000u) >> 13));
#endif
}
}  // namespace kernelmill_hip

#define KERNELMILL_TYPE __half
#define KERNELMILL_PAIR __half2
#define KERNELMILL_WORD half
#include <hip/detail/sixteen_bits.h>

typedef __half half;
typedef __half2 half2;

static inline __host__ __device__ __attribute__((unused)) __half2 __halves2half2(__half x, __half y) {
  return {x, y};
}
static inline __host__ __device__ __attribute__((unused)) __half2 __half2half2(__half x) { return {x, x}; }
static inline __host__ __device__ __attribute__((unused)) __half __low2half(__half2 pair) { return pair.x; }
static inline __host__ __device__ __attribute__((unused)) __half __high2half(__half2 pair) { return pair.y; }
#else
// Host code by another compiler passes it on; it does not compute with it.
struct __half {
  unsigned short bits;
};
struct __half2 {
  __half x, y;
};
#endif
