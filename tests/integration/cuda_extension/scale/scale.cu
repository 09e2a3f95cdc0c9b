#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include "../common/util.cuh"
#include <scale.h>
template <typename T>
__global__ void scale_kernel(T* x, float by, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) x[i] = static_cast<T>(static_cast<float>(x[i]) * by);
}
void scale(torch::Tensor& t, double by) {
  const at::cuda::OptionalCUDAGuard guard(t.device());
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  TORCH_CHECK(at::cuda::getCurrentDeviceProperties()->multiProcessorCount > 0);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, t.scalar_type(), "scale", [&] {
    scale_kernel<scalar_t><<<(t.numel() + 63) / 64, 64, 0, stream>>>(t.data_ptr<scalar_t>(), by, t.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  CHECK_CUDA(cudaGetLastError());
}
