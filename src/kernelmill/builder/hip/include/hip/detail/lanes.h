// Part of hip_runtime.h: what the lanes of a wave tell each other.
//
// The forms ending in _sync are CUDA's. A wave is 64 lanes on GCN and CDNA, so their mask is 64 bits
// wide; all lanes of a wave run in step, so it selects none and is only checked to be wide enough.
#pragma once

namespace kernelmill_hip {
// Every lane reads `value` of lane `source`; the hardware moves 32 bits at a time.
template <typename T>
KERNELMILL_DEVICE T read_lane(T value, int source) {
  int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = __builtin_amdgcn_ds_bpermute(source << 2, word);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
}  // namespace kernelmill_hip

template <typename T>
KERNELMILL_DEVICE T __shfl(T value, int source, int width = warpSize) {
  const int lane = static_cast<int>(__lane_id());
  return kernelmill_hip::read_lane(value, (source & (width - 1)) + (lane & ~(width - 1)));
}
template <typename T>
KERNELMILL_DEVICE T __shfl_up(T value, unsigned distance, int width = warpSize) {
  const int lane = static_cast<int>(__lane_id()), source = lane - static_cast<int>(distance);
  return kernelmill_hip::read_lane(value, source < (lane & ~(width - 1)) ? lane : source);
}
template <typename T>
KERNELMILL_DEVICE T __shfl_down(T value, unsigned distance, int width = warpSize) {
  const int lane = static_cast<int>(__lane_id()), step = static_cast<int>(distance);
  return kernelmill_hip::read_lane(value, (lane & (width - 1)) + step >= width ? lane : lane + step);
}
template <typename T>
KERNELMILL_DEVICE T __shfl_xor(T value, int mask, int width = warpSize) {
  const int lane = static_cast<int>(__lane_id()), source = lane ^ mask;
  return kernelmill_hip::read_lane(value, source >= ((lane + width) & ~(width - 1)) ? lane : source);
}

#if defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX9__)
KERNELMILL_DEVICE unsigned long long __ballot(int predicate) {
  return __builtin_amdgcn_ballot_w32(predicate != 0);
}
#else
KERNELMILL_DEVICE unsigned long long __ballot(int predicate) {
  return __builtin_amdgcn_ballot_w64(predicate != 0);
}
#endif
KERNELMILL_DEVICE int __any(int predicate) { return __ballot(predicate) != 0; }
KERNELMILL_DEVICE int __all(int predicate) { return __ballot(predicate) == __ballot(1); }


KERNELMILL_DEVICE unsigned long long __activemask() { return __ballot(1); }
KERNELMILL_DEVICE void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
template <typename Mask>
KERNELMILL_DEVICE void __syncwarp(Mask) {
  static_assert(sizeof(Mask) == 8, "a wave has up to 64 lanes: the mask must be a 64-bit integer");
  __syncwarp();
}

#define KERNELMILL_SYNC(name, parameter)                                                         \
  template <typename Mask, typename T>                                                           \
  KERNELMILL_DEVICE T name##_sync(Mask, T value, parameter, int width = warpSize) {              \
    static_assert(sizeof(Mask) == 8,                                                             \
                  "a wave has up to 64 lanes: the mask must be a 64-bit integer");               \
    return name(value, argument, width);                                                         \
  }
KERNELMILL_SYNC(__shfl, int argument)
KERNELMILL_SYNC(__shfl_up, unsigned argument)
KERNELMILL_SYNC(__shfl_down, unsigned argument)
KERNELMILL_SYNC(__shfl_xor, int argument)
#undef KERNELMILL_SYNC

#define KERNELMILL_VOTE(type, name, expression)                                                  \
  template <typename Mask>                                                                       \
  KERNELMILL_DEVICE type name(Mask mask, int predicate) {                                        \
    static_assert(sizeof(Mask) == 8,                                                             \
                  "a wave has up to 64 lanes: the mask must be a 64-bit integer");               \
    const unsigned long long votes = __ballot(predicate) & mask;                                 \
    return expression;                                                                           \
  }
KERNELMILL_VOTE(unsigned long long, __ballot_sync, votes)
KERNELMILL_VOTE(int, __any_sync, votes != 0)
KERNELMILL_VOTE(int, __all_sync, votes == (__ballot(1) & mask))
#undef KERNELMILL_VOTE
