// The HIP language for cross-compilation without a ROCm SDK: what a kernel file needs, over
// clang's AMDGPU builtins, with no device library.
//
// Covered, besides hip_runtime_api.h:
//   __global__ __device__ __host__ __shared__ __constant__ __forceinline__ __launch_bounds__
//   threadIdx blockIdx blockDim gridDim warpSize  f<<<grid, block, shared, stream>>>(...)
//   hipLaunchKernelGGL HIP_KERNEL_NAME HIP_DYNAMIC_SHARED
//   __syncthreads __threadfence __threadfence_block __lane_id
//   __shfl __shfl_up __shfl_down __shfl_xor __ballot __any __all  (32- and 64-bit values)
//   atomicAdd atomicMax atomicMin atomicExch atomicCAS  (relaxed, device scope)
//   __popc __popcll __clz __ffs __float_as_int __int_as_float __float_as_uint __uint_as_float
//   fabsf fmaxf fminf fmaf sqrtf rsqrtf floorf ceilf truncf rintf expf exp2f logf log2f log10f
//   __expf __logf  float2 float4 int2 int4 uint2 uint4 and their make_ functions
// Anything else is not there.
#pragma once

#include <hip/hip_runtime_api.h>

#if !defined(__HIP__)
// Host code by another compiler sees the API and the keywords, which mean nothing there.
#define __global__
#define __device__
#define __host__
#define __shared__
#define __constant__
#else

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))

// NOTE: clang ignores its own launch_bounds attribute for AMD: registers would be capped for 1024
// lanes. The second argument is the least number of waves on each SIMD, as in AMD's HIP.
#define KERNELMILL_BOUNDS_1(lanes) __attribute__((amdgpu_flat_work_group_size(1, lanes)))
#define KERNELMILL_BOUNDS_2(lanes, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, lanes), amdgpu_waves_per_eu(waves)))
#define KERNELMILL_BOUNDS_PICK(a, b, name, ...) name
#define __launch_bounds__(...) \
  KERNELMILL_BOUNDS_PICK(__VA_ARGS__, KERNELMILL_BOUNDS_2, KERNELMILL_BOUNDS_1, )(__VA_ARGS__)

// What clang calls for f<<<...>>>(...).
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes = 0,
                                                 hipStream_t stream = nullptr);
extern "C" hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                hipStream_t* stream);

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  kernel<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__)

#define KERNELMILL_DEVICE static inline __device__ __attribute__((always_inline, unused))

namespace kernelmill_hip {
// Hidden kernel arguments of code object version 5: uint32 block_count[3], uint16 group_size[3].
KERNELMILL_DEVICE unsigned block_count(int axis) {
  return ((const __attribute__((address_space(4))) unsigned*)
              __builtin_amdgcn_implicitarg_ptr())[axis];
}
// Read as properties, so that `auto i = threadIdx.x` is an unsigned as in AMD's HIP.
#define KERNELMILL_AXES(type, get_x, get_y, get_z)                                \
  struct type {                                                                   \
    __declspec(property(get = read_x)) unsigned x;                                \
    __declspec(property(get = read_y)) unsigned y;                                \
    __declspec(property(get = read_z)) unsigned z;                                \
    __device__ __attribute__((always_inline)) unsigned read_x() const { return get_x; } \
    __device__ __attribute__((always_inline)) unsigned read_y() const { return get_y; } \
    __device__ __attribute__((always_inline)) unsigned read_z() const { return get_z; } \
    __device__ operator dim3() const { return dim3(get_x, get_y, get_z); }        \
  }
KERNELMILL_AXES(ThreadIndex, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                __builtin_amdgcn_workitem_id_z());
KERNELMILL_AXES(BlockIndex, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                __builtin_amdgcn_workgroup_id_z());
KERNELMILL_AXES(BlockSize, __builtin_amdgcn_workgroup_size_x(),
                __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z());
KERNELMILL_AXES(GridSize, block_count(0), block_count(1), block_count(2));
#undef KERNELMILL_AXES
}  // namespace kernelmill_hip

static constexpr __device__ __attribute__((unused)) kernelmill_hip::ThreadIndex threadIdx{};
static constexpr __device__ __attribute__((unused)) kernelmill_hip::BlockIndex blockIdx{};
static constexpr __device__ __attribute__((unused)) kernelmill_hip::BlockSize blockDim{};
static constexpr __device__ __attribute__((unused)) kernelmill_hip::GridSize gridDim{};

// 64 lanes on GCN and CDNA, 32 on RDNA. Host code cannot know: ask the device.
#if defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX9__)
static constexpr __device__ int warpSize = 32;
#else
static constexpr __device__ int warpSize = 64;
#endif

KERNELMILL_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
KERNELMILL_DEVICE void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
KERNELMILL_DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }

KERNELMILL_DEVICE unsigned __lane_id() {
  const unsigned low = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
  return warpSize == 32 ? low : __builtin_amdgcn_mbcnt_hi(~0u, low);
}

namespace kernelmill_hip {
// Every lane reads `value` of lane `source`; the hardware moves 32 bits at a time.
template <typename T>
KERNELMILL_DEVICE T read_lane(T value, int source) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "only 32- and 64-bit values move between lanes");
  int words[sizeof(T) / 4];
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

template <typename T>
KERNELMILL_DEVICE T atomicAdd(T* address, T value) {
  return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
KERNELMILL_DEVICE T atomicMax(T* address, T value) {
  return __hip_atomic_fetch_max(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
KERNELMILL_DEVICE T atomicMin(T* address, T value) {
  return __hip_atomic_fetch_min(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
KERNELMILL_DEVICE T atomicExch(T* address, T value) {
  return __hip_atomic_exchange(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
KERNELMILL_DEVICE T atomicCAS(T* address, T expected, T value) {
  __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}

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

#define KERNELMILL_VECTORS(scalar, name)                                                  \
  struct alignas(8) name##2 { scalar x, y; };                                             \
  struct alignas(16) name##4 { scalar x, y, z, w; };                                      \
  static inline __host__ __device__ __attribute__((unused)) name##2 make_##name##2(       \
      scalar x, scalar y) { return {x, y}; }                                              \
  static inline __host__ __device__ __attribute__((unused)) name##4 make_##name##4(       \
      scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }
KERNELMILL_VECTORS(float, float)
KERNELMILL_VECTORS(int, int)
KERNELMILL_VECTORS(unsigned, uint)
#undef KERNELMILL_VECTORS

#endif  // __HIP__
