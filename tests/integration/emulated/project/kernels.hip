#include "kernels.h"

__global__ void add_kernel(const float* a, const float* b, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = a[i] + b[i];
}

__device__ float factor_variable = 1.0f;

__global__ void scale_kernel(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor_variable;
}

__global__ void reverse_kernel(float* values) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  values[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

extern "C" hipError_t launch_add(const float* a, const float* b, float* out, int count,
                                 hipStream_t stream) {
  add_kernel<<<(count + 63) / 64, 64, 0, stream>>>(a, b, out, count);
  return hipGetLastError();
}

extern "C" void launch_add_unchecked(const float* a, const float* b, float* out, int count) {
  add_kernel<<<(count + 63) / 64, 64>>>(a, b, out, count);
}

extern "C" hipError_t launch_scale(float* values, int count, float factor) {
  const hipError_t error = hipMemcpyToSymbol(factor_variable, &factor, sizeof factor);
  if (error != hipSuccess) return error;
  scale_kernel<<<(count + 63) / 64, 64>>>(values, count);
  return hipGetLastError();
}

extern "C" hipError_t launch_reverse(float* values, int count) {
  reverse_kernel<<<count / 64, 64, 64 * sizeof(float)>>>(values);
  return hipGetLastError();
}

extern "C" hipError_t add_occupancy(int* blocks, int block_size) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, add_kernel, block_size, 0);
}
