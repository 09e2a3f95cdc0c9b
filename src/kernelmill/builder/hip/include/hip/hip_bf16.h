// bfloat16 storage and its conversions, for cross-compilation without a ROCm SDK.
//
// Covered: __hip_bfloat16, __float2bfloat16 (to nearest even), __bfloat162float. No arithmetic:
// convert to float first.
#pragma once

#include <hip/hip_runtime.h>

#if defined(__HIP__)
struct alignas(2) __hip_bfloat16 {
  __bf16 data;
  __hip_bfloat16() = default;
  __host__ __device__ __hip_bfloat16(float value) : data(static_cast<__bf16>(value)) {}
  __host__ __device__ operator float() const { return static_cast<float>(data); }
};

static inline __host__ __device__ __attribute__((unused)) __hip_bfloat16
__float2bfloat16(float value) {
  return __hip_bfloat16(value);
}
static inline __host__ __device__ __attribute__((unused)) float
__bfloat162float(__hip_bfloat16 value) {
  return static_cast<float>(value);
}
#else
// Host code by another compiler passes it on; it does not compute with it.
struct __hip_bfloat16 {
  unsigned short data;
};
#endif
