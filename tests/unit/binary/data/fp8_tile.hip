// One FP8 matrix instruction through shared memory: what the tests of `binary` read.
#include <hip/hip_runtime.h>

using float4_t = float __attribute__((ext_vector_type(4)));

extern "C" __global__ void __launch_bounds__(256)
    fp8_tile(float4_t* out, const long* a, const long* b) {
  __shared__ long tile[256];
  const unsigned lane = threadIdx.x + blockIdx.x * blockDim.x;
  tile[threadIdx.x] = a[lane];
  __syncthreads();
  float4_t sum = {0, 0, 0, 0};
  sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(tile[255 - threadIdx.x], b[lane], sum, 0, 0, 0);
  out[lane] = sum;
}

// An array that no register holds: scratch memory, so `private_bytes` is not zero.
extern "C" __global__ void __launch_bounds__(64) scratch(int* out, int index) {
  volatile int kept[32];
  for (int i = 0; i < 32; ++i) kept[i] = i * index;
  out[threadIdx.x] = kept[index & 31];
}

extern "C" void launch_fp8_tile(float* out, const long* a, const long* b, hipStream_t stream) {
  fp8_tile<<<dim3(4), dim3(256), 0, stream>>>(reinterpret_cast<float4_t*>(out), a, b);
  scratch<<<dim3(1), dim3(64), 0, stream>>>(reinterpret_cast<int*>(out), 3);
}
