// Part of hip_runtime.h: functions of numbers. Double precision stands in for a device library: a float
// function that no instruction computes is a polynomial in double, rounded once.
#pragma once

KERNELMILL_DEVICE int __popc(unsigned value) { return __builtin_popcount(value); }
KERNELMILL_DEVICE int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
KERNELMILL_DEVICE int __clz(int value) {
  return value ? __builtin_clz(static_cast<unsigned>(value)) : 32;
}
KERNELMILL_DEVICE int __ffs(int value) { return __builtin_ffs(value); }
KERNELMILL_DEVICE int __float_as_int(float value) { return __builtin_bit_cast(int, value); }
KERNELMILL_DEVICE unsigned __float_as_uint(float value) {
  return __builtin_bit_cast(unsigned, value);
}
KERNELMILL_DEVICE float __int_as_float(int value) { return __builtin_bit_cast(float, value); }
KERNELMILL_DEVICE float __uint_as_float(unsigned value) {
  return __builtin_bit_cast(float, value);
}

// The host has its own of these names; clang picks by where the caller runs.
KERNELMILL_DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
KERNELMILL_DEVICE float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
KERNELMILL_DEVICE float fminf(float x, float y) { return __builtin_fminf(x, y); }
KERNELMILL_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KERNELMILL_DEVICE float sqrtf(float x) { return __builtin_sqrtf(x); }
KERNELMILL_DEVICE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
KERNELMILL_DEVICE float floorf(float x) { return __builtin_floorf(x); }
KERNELMILL_DEVICE float ceilf(float x) { return __builtin_ceilf(x); }
KERNELMILL_DEVICE float truncf(float x) { return __builtin_truncf(x); }
KERNELMILL_DEVICE float rintf(float x) { return __builtin_rintf(x); }
KERNELMILL_DEVICE float expf(float x) { return __builtin_expf(x); }
KERNELMILL_DEVICE float exp2f(float x) { return __builtin_exp2f(x); }
KERNELMILL_DEVICE float logf(float x) { return __builtin_logf(x); }
KERNELMILL_DEVICE float log2f(float x) { return __builtin_log2f(x); }
KERNELMILL_DEVICE float log10f(float x) { return __builtin_log10f(x); }
KERNELMILL_DEVICE float __expf(float x) { return __builtin_amdgcn_exp2f(x * 1.44269504f); }
KERNELMILL_DEVICE float __logf(float x) { return __builtin_amdgcn_logf(x) * 0.693147181f; }
KERNELMILL_DEVICE int __clzll(long long value) {
  return value ? __builtin_clzll(static_cast<unsigned long long>(value)) : 64;
}
KERNELMILL_DEVICE int __ffsll(long long value) { return __builtin_ffsll(value); }
KERNELMILL_DEVICE unsigned __brev(unsigned value) { return __builtin_bitreverse32(value); }
KERNELMILL_DEVICE unsigned long long __brevll(unsigned long long value) {
  return __builtin_bitreverse64(value);
}
KERNELMILL_DEVICE int __mulhi(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) * y) >> 32);
}
KERNELMILL_DEVICE unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
KERNELMILL_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  return result;
}
KERNELMILL_DEVICE long long __double_as_longlong(double value) {
  return __builtin_bit_cast(long long, value);
}
KERNELMILL_DEVICE double __longlong_as_double(long long value) {
  return __builtin_bit_cast(double, value);
}
template <typename T>
KERNELMILL_DEVICE T __ldg(const T* address) { return *address; }
template <typename T>
KERNELMILL_DEVICE T __ldcg(const T* address) { return __builtin_nontemporal_load(address); }
template <typename T>
KERNELMILL_DEVICE T __ldcs(const T* address) { return __builtin_nontemporal_load(address); }
template <typename T>
KERNELMILL_DEVICE void __stcs(T* address, T value) {
  __builtin_nontemporal_store(value, address);
}

// Rounded as the suffix says: rn to nearest even, rz to zero, rd down, ru up.
KERNELMILL_DEVICE int __float2int_rn(float x) { return static_cast<int>(__builtin_rintf(x)); }
KERNELMILL_DEVICE int __float2int_rz(float x) { return static_cast<int>(x); }
KERNELMILL_DEVICE int __float2int_rd(float x) { return static_cast<int>(__builtin_floorf(x)); }
KERNELMILL_DEVICE int __float2int_ru(float x) { return static_cast<int>(__builtin_ceilf(x)); }
KERNELMILL_DEVICE unsigned __float2uint_rn(float x) {
  return static_cast<unsigned>(__builtin_rintf(x));
}
KERNELMILL_DEVICE unsigned __float2uint_rz(float x) { return static_cast<unsigned>(x); }
KERNELMILL_DEVICE float __int2float_rn(int x) { return static_cast<float>(x); }
KERNELMILL_DEVICE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
KERNELMILL_DEVICE float __fadd_rn(float x, float y) { return x + y; }
KERNELMILL_DEVICE float __fmul_rn(float x, float y) { return x * y; }
KERNELMILL_DEVICE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KERNELMILL_DEVICE float __fdiv_rn(float x, float y) { return x / y; }
KERNELMILL_DEVICE float __frcp_rn(float x) { return 1.0f / x; }
KERNELMILL_DEVICE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
KERNELMILL_DEVICE float __fdividef(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }
KERNELMILL_DEVICE float __saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
KERNELMILL_DEVICE float __exp10f(float x) { return __builtin_amdgcn_exp2f(x * 3.32192809f); }
KERNELMILL_DEVICE float __log2f(float x) { return __builtin_amdgcn_logf(x); }
KERNELMILL_DEVICE float __log10f(float x) { return __builtin_amdgcn_logf(x) * 0.301029996f; }
KERNELMILL_DEVICE float __powf(float x, float y) {
  return __builtin_amdgcn_exp2f(y * __builtin_amdgcn_logf(x));
}
// The instructions take turns, not radians.
KERNELMILL_DEVICE float __sinf(float x) { return __builtin_amdgcn_sinf(x * 0.159154943f); }
KERNELMILL_DEVICE float __cosf(float x) { return __builtin_amdgcn_cosf(x * 0.159154943f); }

KERNELMILL_DEVICE float roundf(float x) { return __builtin_roundf(x); }
KERNELMILL_DEVICE float nearbyintf(float x) { return __builtin_rintf(x); }
KERNELMILL_DEVICE float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
KERNELMILL_DEVICE float ldexpf(float x, int power) { return __builtin_ldexpf(x, power); }
KERNELMILL_DEVICE double fabs(double x) { return __builtin_fabs(x); }
KERNELMILL_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
KERNELMILL_DEVICE double fmax(double x, double y) { return __builtin_fmax(x, y); }
KERNELMILL_DEVICE double fmin(double x, double y) { return __builtin_fmin(x, y); }
KERNELMILL_DEVICE double sqrt(double x) { return __builtin_sqrt(x); }
KERNELMILL_DEVICE double floor(double x) { return __builtin_floor(x); }
KERNELMILL_DEVICE double ceil(double x) { return __builtin_ceil(x); }
KERNELMILL_DEVICE double trunc(double x) { return __builtin_trunc(x); }
KERNELMILL_DEVICE double rint(double x) { return __builtin_rint(x); }

namespace kernelmill_hip {
// 2^x, for |x| < 1020: the whole part by the exponent, the rest by the series of e^y, |y| < 0.35.
KERNELMILL_DEVICE double exp2_of(double x) {
  const double whole = __builtin_rint(x), y = (x - whole) * 0.69314718055994530942;
  double sum = 1.0;
#pragma unroll
  for (int n = 12; n > 0; --n) sum = 1.0 + sum * y * (1.0 / n);
  return __builtin_ldexp(sum, static_cast<int>(whole));
}
// log2 of a finite x > 0: the exponent, and 2 atanh((m - 1) / (m + 1)) of the mantissa m.
KERNELMILL_DEVICE double log2_of(double x) {
  int exponent = __builtin_amdgcn_frexp_exp(x);
  double mantissa = __builtin_amdgcn_frexp_mant(x);
  if (mantissa < 0.70710678118654752440) mantissa *= 2, --exponent;
  const double t = (mantissa - 1) / (mantissa + 1), square = t * t;
  double sum = 0;
#pragma unroll
  for (int n = 21; n > 0; n -= 2) sum = sum * square + 1.0 / n;
  return exponent + 2 * t * sum * 1.44269504088896340736;
}
constexpr double kLog2E = 1.44269504088896340736, kLn2 = 0.69314718055994530942;
KERNELMILL_DEVICE double clamp(double x, double limit) {
  return __builtin_fmin(__builtin_fmax(x, -limit), limit);
}
// Sine and cosine of x - quarter * pi / 2, which is between -pi / 4 and pi / 4.
struct Turn {
  int quarter;
  double sine, cosine;
};
KERNELMILL_DEVICE Turn turn_of(float x) {
  const double quarters = __builtin_rint(x * 0.63661977236758134308);
  // pi / 2 in two parts: good for |x| up to some 2^30.
  const double y = __builtin_fma(-quarters, 6.123233995736766e-17,
                                 __builtin_fma(-quarters, 1.57079632679489655800, x));
  const double square = y * y;
  double sine = 1, cosine = 1;
#pragma unroll
  for (int n = 6; n > 0; --n) {
    sine = 1 - square * (1.0 / (2 * n * (2 * n + 1))) * sine;
    cosine = 1 - square * (1.0 / (2 * n * (2 * n - 1))) * cosine;
  }
  return {static_cast<int>(static_cast<long long>(quarters) & 3), y * sine, cosine};
}
}  // namespace kernelmill_hip

KERNELMILL_DEVICE float exp10f(float x) {
  if (x != x) return x;
  return static_cast<float>(
      kernelmill_hip::exp2_of(kernelmill_hip::clamp(x * 3.32192809488736234787, 1000)));
}
KERNELMILL_DEVICE float expm1f(float x) {
  if (!(__builtin_fabsf(x) > 1e-5f)) return x + x * x * 0.5f;
  const double power = kernelmill_hip::clamp(x * kernelmill_hip::kLog2E, 1000);
  return static_cast<float>(kernelmill_hip::exp2_of(power) - 1);
}
KERNELMILL_DEVICE float log1pf(float x) {
  if (!(__builtin_fabsf(x) > 1e-5f)) return x - x * x * 0.5f;
  if (x <= -1.0f || x > 3e38f) return x < -1.0f ? __builtin_nanf("") : x < 0 ? -__builtin_inff() : x;
  return static_cast<float>(kernelmill_hip::log2_of(1.0 + x) * kernelmill_hip::kLn2);
}
KERNELMILL_DEVICE float tanhf(float x) {
  if (!(__builtin_fabsf(x) > 1e-3f)) return x - x * x * x * (1.0f / 3);
  const double power = kernelmill_hip::clamp(x * (2 * kernelmill_hip::kLog2E), 1000);
  return static_cast<float>(1 - 2 / (kernelmill_hip::exp2_of(power) + 1));
}
KERNELMILL_DEVICE float coshf(float x) {
  if (x != x) return x;
  const double e = kernelmill_hip::exp2_of(kernelmill_hip::clamp(x * kernelmill_hip::kLog2E, 1000));
  return static_cast<float>((e + 1 / e) * 0.5);
}
KERNELMILL_DEVICE float sinhf(float x) {
  if (!(__builtin_fabsf(x) > 1e-3f)) return x + x * x * x * (1.0f / 6);
  const double e = kernelmill_hip::exp2_of(kernelmill_hip::clamp(x * kernelmill_hip::kLog2E, 1000));
  return static_cast<float>((e - 1 / e) * 0.5);
}
// The series of erf; from |x| = 4 on a float cannot tell erf from 1.
KERNELMILL_DEVICE float erff(float x) {
  if (!(__builtin_fabsf(x) < 4.0f)) return x != x ? x : __builtin_copysignf(1.0f, x);
  const double square = static_cast<double>(x) * x;
  const int count = 8 + static_cast<int>(3 * square);
  double term = x, sum = x;
  for (int n = 1; n <= count; ++n) {
    term *= -square / n;
    sum += term / (2 * n + 1);
  }
  return static_cast<float>(sum * 1.12837916709551257390);
}
KERNELMILL_DEVICE float powf(float x, float y) {
  const float size = __builtin_fabsf(x);
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x != x || y != y) return x + y;
  const bool is_whole = __builtin_truncf(y) == y;
  const bool is_odd = is_whole && __builtin_fabsf(y) < 16777216.0f && (static_cast<int>(y) & 1);
  float power = 1.0f;  // of -1, to any infinite power
  if (size == 0.0f || size > 3.40282347e38f) {
    power = (size == 0.0f) == (y > 0.0f) ? 0.0f : __builtin_inff();
  } else if (size != 1.0f) {
    power = static_cast<float>(kernelmill_hip::exp2_of(
        kernelmill_hip::clamp(y * kernelmill_hip::log2_of(size), 1000)));
  }
  if (x < 0.0f && !is_whole && size <= 3.40282347e38f) return __builtin_nanf("");
  return is_odd ? __builtin_copysignf(power, x) : power;
}
KERNELMILL_DEVICE void sincosf(float x, float* sine, float* cosine) {
  if (!(__builtin_fabsf(x) < 3.5e38f)) {
    *sine = *cosine = __builtin_nanf("");
    return;
  }
  const kernelmill_hip::Turn turn = kernelmill_hip::turn_of(x);
  const bool is_swapped = turn.quarter & 1;
  const double first = is_swapped ? turn.cosine : turn.sine;
  const double second = is_swapped ? turn.sine : turn.cosine;
  *sine = static_cast<float>(turn.quarter & 2 ? -first : first);
  *cosine = static_cast<float>((turn.quarter + 1) & 2 ? -second : second);
}
KERNELMILL_DEVICE void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x), *cosine = __cosf(x);
}
KERNELMILL_DEVICE float sinf(float x) {
  float sine, cosine;
  sincosf(x, &sine, &cosine);
  return sine;
}
KERNELMILL_DEVICE float cosf(float x) {
  float sine, cosine;
  sincosf(x, &sine, &cosine);
  return cosine;
}
KERNELMILL_DEVICE float tanf(float x) {
  float sine, cosine;
  sincosf(x, &sine, &cosine);
  return sine / cosine;
}
KERNELMILL_DEVICE float fmodf(float x, float y) {
  // Long division in double: whole while the quotient is below 2^53.
  const double quotient = __builtin_trunc(static_cast<double>(x) / y);
  return __builtin_copysignf(static_cast<float>(__builtin_fma(-quotient, y, x)), x);
}

// C++ has these for float under the names of double's.
KERNELMILL_DEVICE float fabs(float x) { return fabsf(x); }
KERNELMILL_DEVICE float abs(float x) { return fabsf(x); }
KERNELMILL_DEVICE float sqrt(float x) { return sqrtf(x); }
KERNELMILL_DEVICE float rsqrt(float x) { return rsqrtf(x); }
KERNELMILL_DEVICE float floor(float x) { return floorf(x); }
KERNELMILL_DEVICE float ceil(float x) { return ceilf(x); }
KERNELMILL_DEVICE float trunc(float x) { return truncf(x); }
KERNELMILL_DEVICE float rint(float x) { return rintf(x); }
KERNELMILL_DEVICE float round(float x) { return roundf(x); }
KERNELMILL_DEVICE float exp(float x) { return expf(x); }
KERNELMILL_DEVICE float exp2(float x) { return exp2f(x); }
KERNELMILL_DEVICE float expm1(float x) { return expm1f(x); }
KERNELMILL_DEVICE float log(float x) { return logf(x); }
KERNELMILL_DEVICE float log2(float x) { return log2f(x); }
KERNELMILL_DEVICE float log10(float x) { return log10f(x); }
KERNELMILL_DEVICE float log1p(float x) { return log1pf(x); }
KERNELMILL_DEVICE float tanh(float x) { return tanhf(x); }
KERNELMILL_DEVICE float erf(float x) { return erff(x); }
KERNELMILL_DEVICE float sin(float x) { return sinf(x); }
KERNELMILL_DEVICE float cos(float x) { return cosf(x); }
KERNELMILL_DEVICE float pow(float x, float y) { return powf(x, y); }
KERNELMILL_DEVICE float fma(float x, float y, float z) { return fmaf(x, y, z); }
KERNELMILL_DEVICE float fmax(float x, float y) { return fmaxf(x, y); }
KERNELMILL_DEVICE float fmin(float x, float y) { return fminf(x, y); }
KERNELMILL_DEVICE int abs(int x) { return x < 0 ? -x : x; }

// CUDA has these without std::, for the host as well; NaN loses against a number.
#define KERNELMILL_EXTREMES(type)                                \
  KERNELMILL_BOTH type max(type x, type y) { return x > y ? x : y; } \
  KERNELMILL_BOTH type min(type x, type y) { return x < y ? x : y; }
KERNELMILL_EXTREMES(int)
KERNELMILL_EXTREMES(unsigned)
KERNELMILL_EXTREMES(long)
KERNELMILL_EXTREMES(unsigned long)
KERNELMILL_EXTREMES(long long)
KERNELMILL_EXTREMES(unsigned long long)
#undef KERNELMILL_EXTREMES
KERNELMILL_BOTH float max(float x, float y) { return __builtin_fmaxf(x, y); }
KERNELMILL_BOTH float min(float x, float y) { return __builtin_fminf(x, y); }
KERNELMILL_BOTH double max(double x, double y) { return __builtin_fmax(x, y); }
KERNELMILL_BOTH double min(double x, double y) { return __builtin_fmin(x, y); }
