// Part of hip_fp16.h and hip_bf16.h: what the two types have in common. Each operation is computed in
// float and rounded once, to nearest even.
//
// Reads KERNELMILL_TYPE, KERNELMILL_PAIR, KERNELMILL_WORD (half, bfloat16: as in __float2half) and
// KERNELMILL_SHORT (half, bfloat16: as in __half2float), all defined by the header that includes this.

#define KERNELMILL_JOIN_(a, b, c) a##b##c
#define KERNELMILL_JOIN(a, b, c) KERNELMILL_JOIN_(a, b, c)
#define KERNELMILL_NAME(before, after) KERNELMILL_JOIN(before, KERNELMILL_WORD, after)
#define KERNELMILL_INLINE static inline __attribute__((host, device, unused))

struct alignas(2) KERNELMILL_TYPE {
  unsigned short bits;
  KERNELMILL_TYPE() = default;
  __host__ __device__ KERNELMILL_TYPE(float value) : bits(kernelmill_hip::KERNELMILL_NAME(to_, )(value)) {}
  __host__ __device__ KERNELMILL_TYPE(double value) : KERNELMILL_TYPE(static_cast<float>(value)) {}
  __host__ __device__ KERNELMILL_TYPE(int value) : KERNELMILL_TYPE(static_cast<float>(value)) {}
  __host__ __device__ operator float() const {
    return kernelmill_hip::KERNELMILL_NAME(from_, )(bits);
  }
  __host__ __device__ KERNELMILL_TYPE& operator+=(KERNELMILL_TYPE other) {
    return *this = KERNELMILL_TYPE(float(*this) + float(other));
  }
  __host__ __device__ KERNELMILL_TYPE& operator-=(KERNELMILL_TYPE other) {
    return *this = KERNELMILL_TYPE(float(*this) - float(other));
  }
  __host__ __device__ KERNELMILL_TYPE& operator*=(KERNELMILL_TYPE other) {
    return *this = KERNELMILL_TYPE(float(*this) * float(other));
  }
  __host__ __device__ KERNELMILL_TYPE& operator/=(KERNELMILL_TYPE other) {
    return *this = KERNELMILL_TYPE(float(*this) / float(other));
  }
};
struct alignas(4) KERNELMILL_PAIR {
  KERNELMILL_TYPE x, y;
};

#define KERNELMILL_BINARY(op, name)                                                              \
  KERNELMILL_INLINE KERNELMILL_TYPE operator op(KERNELMILL_TYPE a, KERNELMILL_TYPE b) {          \
    return KERNELMILL_TYPE(float(a) op float(b));                                                \
  }                                                                                              \
  KERNELMILL_INLINE KERNELMILL_TYPE name(KERNELMILL_TYPE a, KERNELMILL_TYPE b) { return a op b; } \
  KERNELMILL_INLINE KERNELMILL_PAIR name##2(KERNELMILL_PAIR a, KERNELMILL_PAIR b) {              \
    return {a.x op b.x, a.y op b.y};                                                             \
  }
KERNELMILL_BINARY(+, __hadd)
KERNELMILL_BINARY(-, __hsub)
KERNELMILL_BINARY(*, __hmul)
KERNELMILL_BINARY(/, __hdiv)
#undef KERNELMILL_BINARY

#define KERNELMILL_COMPARE(op, name)                                                             \
  KERNELMILL_INLINE bool operator op(KERNELMILL_TYPE a, KERNELMILL_TYPE b) {                     \
    return float(a) op float(b);                                                                 \
  }                                                                                              \
  KERNELMILL_INLINE bool name(KERNELMILL_TYPE a, KERNELMILL_TYPE b) { return a op b; }
KERNELMILL_COMPARE(==, __heq)
KERNELMILL_COMPARE(!=, __hne)
KERNELMILL_COMPARE(<, __hlt)
KERNELMILL_COMPARE(<=, __hle)
KERNELMILL_COMPARE(>, __hgt)
KERNELMILL_COMPARE(>=, __hge)
#undef KERNELMILL_COMPARE

KERNELMILL_INLINE KERNELMILL_TYPE operator-(KERNELMILL_TYPE a) {
  a.bits ^= 0x8000;
  return a;
}
KERNELMILL_INLINE KERNELMILL_TYPE __hneg(KERNELMILL_TYPE a) { return -a; }
KERNELMILL_INLINE KERNELMILL_TYPE __habs(KERNELMILL_TYPE a) {
  a.bits &= 0x7fff;
  return a;
}
KERNELMILL_INLINE bool __hisnan(KERNELMILL_TYPE a) { return float(a) != float(a); }
KERNELMILL_INLINE KERNELMILL_TYPE __hmax(KERNELMILL_TYPE a, KERNELMILL_TYPE b) {
  return KERNELMILL_TYPE(__builtin_fmaxf(a, b));
}
KERNELMILL_INLINE KERNELMILL_TYPE __hmin(KERNELMILL_TYPE a, KERNELMILL_TYPE b) {
  return KERNELMILL_TYPE(__builtin_fminf(a, b));
}
// NOTE: the product of two is exact in float, their sum with a third is not always: rounded twice.
KERNELMILL_INLINE KERNELMILL_TYPE __hfma(KERNELMILL_TYPE a, KERNELMILL_TYPE b, KERNELMILL_TYPE c) {
  return KERNELMILL_TYPE(__builtin_fmaf(a, b, c));
}
KERNELMILL_INLINE KERNELMILL_PAIR __hfma2(KERNELMILL_PAIR a, KERNELMILL_PAIR b, KERNELMILL_PAIR c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
KERNELMILL_INLINE KERNELMILL_PAIR __hmax2(KERNELMILL_PAIR a, KERNELMILL_PAIR b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
KERNELMILL_INLINE KERNELMILL_PAIR __hmin2(KERNELMILL_PAIR a, KERNELMILL_PAIR b) {
  return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}
KERNELMILL_DEVICE KERNELMILL_TYPE hexp(KERNELMILL_TYPE a) { return expf(a); }
KERNELMILL_DEVICE KERNELMILL_TYPE hlog(KERNELMILL_TYPE a) { return logf(a); }
KERNELMILL_DEVICE KERNELMILL_TYPE hsqrt(KERNELMILL_TYPE a) { return sqrtf(a); }
KERNELMILL_DEVICE KERNELMILL_TYPE hrsqrt(KERNELMILL_TYPE a) { return rsqrtf(a); }
KERNELMILL_DEVICE KERNELMILL_TYPE hrcp(KERNELMILL_TYPE a) { return 1.0f / float(a); }

KERNELMILL_INLINE KERNELMILL_TYPE KERNELMILL_NAME(__float2, )(float value) {
  return KERNELMILL_TYPE(value);
}
KERNELMILL_INLINE KERNELMILL_TYPE KERNELMILL_NAME(__float2, _rn)(float value) {
  return KERNELMILL_TYPE(value);
}
KERNELMILL_INLINE KERNELMILL_TYPE KERNELMILL_NAME(__double2, )(double value) {
  return KERNELMILL_TYPE(value);
}
KERNELMILL_INLINE KERNELMILL_TYPE KERNELMILL_NAME(__int2, _rn)(int value) {
  return KERNELMILL_TYPE(value);
}
KERNELMILL_INLINE float KERNELMILL_NAME(__, 2float)(KERNELMILL_TYPE value) { return value; }
KERNELMILL_INLINE int KERNELMILL_NAME(__, 2int_rn)(KERNELMILL_TYPE value) {
  return static_cast<int>(__builtin_rintf(value));
}
KERNELMILL_INLINE unsigned short KERNELMILL_NAME(__, _as_ushort)(KERNELMILL_TYPE value) {
  return value.bits;
}
KERNELMILL_INLINE short KERNELMILL_NAME(__, _as_short)(KERNELMILL_TYPE value) {
  return static_cast<short>(value.bits);
}
KERNELMILL_INLINE KERNELMILL_TYPE KERNELMILL_NAME(__ushort_as_, )(unsigned short bits) {
  KERNELMILL_TYPE value;
  value.bits = bits;
  return value;
}
KERNELMILL_INLINE KERNELMILL_PAIR KERNELMILL_NAME(__float2, 2_rn)(float value) {
  return {KERNELMILL_TYPE(value), KERNELMILL_TYPE(value)};
}
KERNELMILL_INLINE KERNELMILL_PAIR KERNELMILL_NAME(__floats2, 2_rn)(float x, float y) {
  return {KERNELMILL_TYPE(x), KERNELMILL_TYPE(y)};
}
KERNELMILL_INLINE KERNELMILL_PAIR KERNELMILL_NAME(__float22, 2_rn)(float2 pair) {
  return {KERNELMILL_TYPE(pair.x), KERNELMILL_TYPE(pair.y)};
}
KERNELMILL_INLINE float2 KERNELMILL_NAME(__, 22float2)(KERNELMILL_PAIR pair) {
  return {float(pair.x), float(pair.y)};
}
KERNELMILL_INLINE float __low2float(KERNELMILL_PAIR pair) { return pair.x; }
KERNELMILL_INLINE float __high2float(KERNELMILL_PAIR pair) { return pair.y; }

#undef KERNELMILL_TYPE
#undef KERNELMILL_PAIR
#undef KERNELMILL_WORD
#undef KERNELMILL_NAME
#undef KERNELMILL_JOIN
#undef KERNELMILL_JOIN_
#undef KERNELMILL_INLINE
