// Short vectors, for cross-compilation without a ROCm SDK: char2 ... ulonglong4, float1 ... double4 and
// their make_ functions, with the sizes and alignments of CUDA and HIP. Plain structures: no operators.
#pragma once

#if defined(__HIP__)
#define KERNELMILL_BOTH static inline constexpr __attribute__((host, device, unused))
#else
#define KERNELMILL_BOTH static inline constexpr __attribute__((unused))
#endif

#define KERNELMILL_VECTORS(scalar, name, align2, align4)                                         \
  struct name##1 { scalar x; };                                                                  \
  struct alignas(align2) name##2 { scalar x, y; };                                               \
  struct name##3 { scalar x, y, z; };                                                            \
  struct alignas(align4) name##4 { scalar x, y, z, w; };                                         \
  KERNELMILL_BOTH name##1 make_##name##1(scalar x) { return {x}; }                               \
  KERNELMILL_BOTH name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }                  \
  KERNELMILL_BOTH name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; }     \
  KERNELMILL_BOTH name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) {               \
    return {x, y, z, w};                                                                         \
  }
#ifdef __cplusplus
KERNELMILL_VECTORS(signed char, char, 2, 4)
KERNELMILL_VECTORS(unsigned char, uchar, 2, 4)
KERNELMILL_VECTORS(short, short, 4, 8)
KERNELMILL_VECTORS(unsigned short, ushort, 4, 8)
KERNELMILL_VECTORS(int, int, 8, 16)
KERNELMILL_VECTORS(unsigned, uint, 8, 16)
KERNELMILL_VECTORS(long, long, 16, 16)
KERNELMILL_VECTORS(unsigned long, ulong, 16, 16)
KERNELMILL_VECTORS(long long, longlong, 16, 16)
KERNELMILL_VECTORS(unsigned long long, ulonglong, 16, 16)
KERNELMILL_VECTORS(float, float, 8, 16)
KERNELMILL_VECTORS(double, double, 16, 16)
#endif
#undef KERNELMILL_VECTORS
