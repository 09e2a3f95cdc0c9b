// Kernels whose counters are known by hand.
#include <hip/hip_runtime.h>
#include <stdint.h>

// Each wave reads and writes 256 bytes in a row.
extern "C" __global__ void __launch_bounds__(64) in_a_row(const float* in, float* out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = in[i];
}

// Each lane reads 4 bytes of a 128-byte line of its own.
extern "C" __global__ void __launch_bounds__(64) line_each(const float* in, float* out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = in[i * 32];
}

// All lanes read the same 4 bytes.
extern "C" __global__ void __launch_bounds__(64) one_value(const float* in, float* out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = *(const volatile float*)(in + blockIdx.x);
}

// Lanes write down a column of LDS: rows of 32 words are all in one bank, rows of 33 are not.
template <int kRow>
__device__ void column(float* out) {
  __shared__ float tile[64 * kRow];
  volatile float* place = tile + threadIdx.x * kRow;
  *place = (float)threadIdx.x;
  out[threadIdx.x] = *place;
}
extern "C" __global__ void __launch_bounds__(64) one_bank(float* out) { column<32>(out); }
extern "C" __global__ void __launch_bounds__(64) all_banks(float* out) { column<33>(out); }

// steps products of 16 x 32 by 32 x 16.
typedef float float4v __attribute__((ext_vector_type(4)));
typedef int int4v __attribute__((ext_vector_type(4)));
extern "C" __global__ void __launch_bounds__(64) tile(const long* a, const long* b, float4v* out,
                                                      int steps) {
  float4v sum = {0, 0, 0, 0};
  for (int step = 0; step < steps; ++step) {
    const int i = step * 64 + threadIdx.x;
    sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a[i], b[i], sum, 0, 0, 0);
  }
  out[threadIdx.x] = sum;
}
extern "C" __global__ void __launch_bounds__(64) byte_tile(const long* a, const long* b,
                                                           int4v* out) {
  const int4v sum = {0, 0, 0, 0};
  const int i = threadIdx.x;
  out[i] = __builtin_amdgcn_mfma_i32_16x16x32_i8(a[i], b[i], sum, 0, 0, 0);
}

// steps multiply-adds of each lane.
extern "C" __global__ void __launch_bounds__(64) chain(float* out, int steps) {
  float value = out[threadIdx.x];
#pragma unroll 1
  for (int step = 0; step < steps; ++step) value = __builtin_fmaf(value, value, value);
  out[threadIdx.x] = value;
}

// Registers that are not there for anything but to take room.
extern "C" __global__ void __launch_bounds__(64) vector_registers(int* out) {
  asm volatile("s_nop 0" ::: "v99");
  out[threadIdx.x] = 1;
}
extern "C" __global__ void __launch_bounds__(64) accumulators(int* out) {
  asm volatile("s_nop 0" ::: "a99");
  out[threadIdx.x] = 1;
}
extern "C" __global__ void __launch_bounds__(64) scalar_registers(int* out) {
  asm volatile("s_nop 0" ::: "s97");
  out[threadIdx.x] = 1;
}
extern "C" __global__ void __launch_bounds__(64) plain(int* out) { out[threadIdx.x] = 1; }

// Workgroup 0 waits for the last one, which comes when it has ended.
extern "C" __global__ void __launch_bounds__(64) wait_for_later(unsigned* flag) {
  if (blockIdx.x == gridDim.x - 1) __hip_atomic_store(flag, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  if (blockIdx.x == 0) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
    }
  }
}
