// bfloat16, for cross-compilation without a ROCm SDK: __hip_bfloat16 and __hip_bfloat162, conversions to
// and from float, double, int and bits (to nearest even), + - * / and comparisons, and the functions that
// hip_fp16.h lists. Anything else is not there.
#pragma once

#include <hip/hip_runtime.h>

#if defined(__HIP__)
namespace kernelmill_hip {
static inline __host__ __device__ float from_bfloat16(unsigned short bits) {
  return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16);
}
static inline __host__ __device__ unsigned short to_bfloat16(float value) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __builtin_bit_cast(unsigned short, static_cast<__bf16>(value));
#else
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>(bits >> 16 | 0x40);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}
}  // namespace kernelmill_hip

#define KERNELMILL_TYPE __hip_bfloat16
#define KERNELMILL_PAIR __hip_bfloat162
#define KERNELMILL_WORD bfloat16
#include <hip/detail/sixteen_bits.h>

static inline __host__ __device__ __attribute__((unused)) __hip_bfloat162
__halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return {x, y};
}
static inline __host__ __device__ __attribute__((unused)) __hip_bfloat162
__bfloat162bfloat162(__hip_bfloat16 x) {
  return {x, x};
}
static inline __host__ __device__ __attribute__((unused)) __hip_bfloat16
__low2bfloat16(__hip_bfloat162 pair) {
  return pair.x;
}
static inline __host__ __device__ __attribute__((unused)) __hip_bfloat16
__high2bfloat16(__hip_bfloat162 pair) {
  return pair.y;
}
#else
// Host code by another compiler passes it on; it does not compute with it.
struct __hip_bfloat16 {
  unsigned short bits;
};
struct __hip_bfloat162 {
  __hip_bfloat16 x, y;
};
#endif
