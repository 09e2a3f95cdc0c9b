// The HIP language for cross-compilation without a ROCm SDK: what a kernel file needs, over
// clang's AMDGPU builtins, with no device library.
//
// Covered, besides hip_runtime_api.h and hip_vector_types.h:
//   __global__ __device__ __host__ __shared__ __constant__ __forceinline__
//   __launch_bounds__ __restrict__ threadIdx blockIdx blockDim gridDim warpSize
//   f<<<grid, block, shared, stream>>>(...) hipLaunchKernelGGL HIP_KERNEL_NAME HIP_DYNAMIC_SHARED
//   HIP_SYMBOL __syncthreads __threadfence __threadfence_block __threadfence_system __trap clock64
//   detail/lanes.h    __shfl* __shfl*_sync __ballot* __any* __all* __syncwarp __activemask __lane_id
//   detail/atomics.h  atomicAdd Sub Max Min Exch CAS And Or Xor Inc Dec, _block and _system too
//   detail/math.h     what <math.h> has for float that kernels commonly use, fast and integer ones
// Anything else is not there: textures, printf, assert, double functions but the exact ones.
#pragma once

#include <hip/hip_runtime_api.h>
#include <hip/hip_vector_types.h>

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
#define HIP_SYMBOL(x) x

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
KERNELMILL_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
KERNELMILL_DEVICE void __trap() { __builtin_trap(); }
KERNELMILL_DEVICE long long clock64() {
  return static_cast<long long>(__builtin_readcyclecounter());
}

KERNELMILL_DEVICE unsigned __lane_id() {
  const unsigned low = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
  return warpSize == 32 ? low : __builtin_amdgcn_mbcnt_hi(~0u, low);
}

#include <hip/detail/atomics.h>
#include <hip/detail/lanes.h>
#include <hip/detail/math.h>

#endif  // __HIP__
