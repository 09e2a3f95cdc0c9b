// Elementwise: one work-item per element, consecutive ones in a wave, so that accesses coalesce.
#include <hip/hip_runtime.h>

#include "relu.h"

namespace {

constexpr int kThreads = 256;

__global__ void forward_kernel(float* out, const float* x, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) out[i] = x[i] < 0.0f ? 0.0f : x[i];  // NaN stays NaN
}

__global__ void backward_kernel(float* grad_x, const float* grad, const float* out,
                                std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) grad_x[i] = out[i] <= 0.0f ? 0.0f : grad[i];
}

dim3 blocks_for(std::int64_t count) {
  return dim3(static_cast<unsigned>((count + kThreads - 1) / kThreads));
}

}  // namespace

int relu_rocm(float* out, const float* x, std::int64_t count, void* stream) {
  if (count == 0) return 0;
  forward_kernel<<<blocks_for(count), dim3(kThreads), 0, static_cast<hipStream_t>(stream)>>>(
      out, x, count);
  return hipGetLastError();
}

int relu_backward_rocm(float* grad_x, const float* grad, const float* out, std::int64_t count,
                       void* stream) {
  if (count == 0) return 0;
  backward_kernel<<<blocks_for(count), dim3(kThreads), 0, static_cast<hipStream_t>(stream)>>>(
      grad_x, grad, out, count);
  return hipGetLastError();
}
