// Part of hip_runtime.h: atomics, relaxed as CUDA's and HIP's are. Without a suffix they are atomic for
// the device; _block for the workgroup, _system for the host and other devices as well.
#pragma once

// The value may be of another type than the target's, as in atomicAdd(&unsigned_counter, 1).
#define KERNELMILL_ATOMIC(name, builtin, suffix, scope)                                          \
  template <typename T, typename V>                                                              \
  KERNELMILL_DEVICE T name##suffix(T* address, V value) {                                        \
    return builtin(address, static_cast<T>(value), __ATOMIC_RELAXED, scope);                     \
  }
#define KERNELMILL_ATOMICS(suffix, scope)                                                        \
  KERNELMILL_ATOMIC(atomicAdd, __hip_atomic_fetch_add, suffix, scope)                            \
  KERNELMILL_ATOMIC(atomicMax, __hip_atomic_fetch_max, suffix, scope)                            \
  KERNELMILL_ATOMIC(atomicMin, __hip_atomic_fetch_min, suffix, scope)                            \
  KERNELMILL_ATOMIC(atomicAnd, __hip_atomic_fetch_and, suffix, scope)                            \
  KERNELMILL_ATOMIC(atomicOr, __hip_atomic_fetch_or, suffix, scope)                              \
  KERNELMILL_ATOMIC(atomicXor, __hip_atomic_fetch_xor, suffix, scope)                            \
  KERNELMILL_ATOMIC(atomicExch, __hip_atomic_exchange, suffix, scope)                            \
  template <typename T, typename V>                                                              \
  KERNELMILL_DEVICE T atomicSub##suffix(T* address, V value) {                                   \
    return __hip_atomic_fetch_add(address, static_cast<T>(-static_cast<T>(value)),               \
                                  __ATOMIC_RELAXED, scope);                                      \
  }                                                                                              \
  template <typename T, typename E, typename V>                                                  \
  KERNELMILL_DEVICE T atomicCAS##suffix(T* address, E expected, V value) {                       \
    T found = static_cast<T>(expected);                                                          \
    __hip_atomic_compare_exchange_strong(address, &found, static_cast<T>(value),                 \
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope);             \
    return found;                                                                                \
  }
KERNELMILL_ATOMICS(, __HIP_MEMORY_SCOPE_AGENT)
KERNELMILL_ATOMICS(_block, __HIP_MEMORY_SCOPE_WORKGROUP)
KERNELMILL_ATOMICS(_system, __HIP_MEMORY_SCOPE_SYSTEM)
#undef KERNELMILL_ATOMICS
#undef KERNELMILL_ATOMIC

// Counts up to `limit`, and from there to 0.
KERNELMILL_DEVICE unsigned atomicInc(unsigned* address, unsigned limit) {
  unsigned old = *address, seen;
  do {
    seen = old;
    old = atomicCAS(address, seen, seen >= limit ? 0u : seen + 1);
  } while (old != seen);
  return old;
}
// Counts down to 0, and from there, or from above `limit`, to `limit`.
KERNELMILL_DEVICE unsigned atomicDec(unsigned* address, unsigned limit) {
  unsigned old = *address, seen;
  do {
    seen = old;
    old = atomicCAS(address, seen, seen == 0 || seen > limit ? limit : seen - 1);
  } while (old != seen);
  return old;
}
