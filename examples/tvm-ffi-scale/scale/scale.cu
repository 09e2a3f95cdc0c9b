#include "scale.h"

namespace {

constexpr int kThreads = 256;

__global__ void scale_kernel(float* out, const float* x, float factor, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) out[i] = factor * x[i];
}

}  // namespace

int scale_cuda(float* out, const float* x, float factor, std::int64_t count, int device, void* stream) {
  if (count == 0) return 0;
  int before = 0;
  if (const cudaError_t error = cudaGetDevice(&before)) return error;
  if (const cudaError_t error = cudaSetDevice(device)) return error;
  const unsigned blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  scale_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(out, x, factor, count);
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t restored = cudaSetDevice(before);
  return launched ? launched : restored;
}
