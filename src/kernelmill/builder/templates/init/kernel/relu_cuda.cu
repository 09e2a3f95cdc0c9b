#include "relu.h"

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 65536;

__global__ void __launch_bounds__(kThreads)
    relu_kernel(float* out, const float* input, int64_t count) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += stride) {
    // Written so that NaN stays NaN.
    out[i] = input[i] < 0.0f ? 0.0f : input[i];
  }
}

cudaError_t relu_cuda(float* out, const float* input, int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;  // a launch of no blocks is an error
  const int64_t wanted = (count + kThreads - 1) / kThreads;
  const int64_t blocks = wanted < kMaxBlocks ? wanted : kMaxBlocks;
  relu_kernel<<<dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, stream>>>(out, input, count);
  return cudaGetLastError();
}
