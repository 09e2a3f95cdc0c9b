// What the binding and the kernels agree on: count floats, contiguous; out may be input.
// On a GPU they start on the caller's stream or queue, and do not wait.
#pragma once

#include <stdint.h>

#if defined(ROCM_KERNEL)
#include <hip/hip_runtime.h>

hipError_t relu_rocm(float* out, const float* input, int64_t count, hipStream_t stream);
#elif defined(CUDA_KERNEL)
#include <cuda_runtime.h>

cudaError_t relu_cuda(float* out, const float* input, int64_t count, cudaStream_t stream);
#elif defined(XPU_KERNEL)
#include <sycl/sycl.hpp>

void relu_xpu(float* out, const float* input, int64_t count, sycl::queue& queue);
#elif defined(METAL_KERNEL)
#include <ATen/core/Tensor.h>

void relu_metal(const at::Tensor& out, const at::Tensor& input);
#else
void relu_cpu(float* out, const float* input, int64_t count);
#endif
