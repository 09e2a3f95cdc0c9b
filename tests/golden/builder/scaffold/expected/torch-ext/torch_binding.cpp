#include "torch_binding.h"

#include <torch/library.h>

#include "registration.h"
#include "relu.h"

#if defined(CUDA_KERNEL) || defined(ROCM_KERNEL)
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#elif defined(XPU_KERNEL)
#include <c10/core/DeviceGuard.h>
#include <c10/xpu/XPUStream.h>
#endif

void relu(at::Tensor& out, const at::Tensor& input) {
  TORCH_CHECK(input.scalar_type() == at::kFloat, "relu: input is ", input.scalar_type(),
              ", want float32");
  TORCH_CHECK(out.scalar_type() == at::kFloat, "relu: out is ", out.scalar_type(),
              ", want float32");
  TORCH_CHECK(out.sizes() == input.sizes(), "relu: out is ", out.sizes(), ", want ",
              input.sizes());
  TORCH_CHECK(out.device() == input.device(), "relu: out is on ", out.device(), ", input on ",
              input.device());
  TORCH_CHECK(input.is_contiguous() && out.is_contiguous(),
              "relu: input and out must be contiguous");
#if defined(METAL_KERNEL)
  relu_metal(out, input);
#else
  float* to = out.mutable_data_ptr<float>();
  const float* from = input.const_data_ptr<float>();
#if defined(CUDA_KERNEL) || defined(ROCM_KERNEL)
  const c10::DeviceGuard guard(input.device());
  // The stream of whatever device torch calls this: no header of one backend is needed.
  const c10::Stream stream =
      c10::impl::VirtualGuardImpl(input.device().type()).getStream(input.device());
#endif
#if defined(ROCM_KERNEL)
  const hipError_t status =
      relu_rocm(to, from, input.numel(), static_cast<hipStream_t>(stream.native_handle()));
  TORCH_CHECK(status == hipSuccess, "relu: launch failed: ", hipGetErrorString(status));
#elif defined(CUDA_KERNEL)
  const cudaError_t status =
      relu_cuda(to, from, input.numel(), static_cast<cudaStream_t>(stream.native_handle()));
  TORCH_CHECK(status == cudaSuccess, "relu: launch failed: ", cudaGetErrorString(status));
#elif defined(XPU_KERNEL)
  const c10::DeviceGuard guard(input.device());
  relu_xpu(to, from, input.numel(), c10::xpu::getCurrentXPUStream(input.device().index()).queue());
#else
  relu_cpu(to, from, input.numel());
#endif
#endif
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("relu(Tensor! out, Tensor input) -> ()");
#if defined(CUDA_KERNEL) || defined(ROCM_KERNEL)
  ops.impl("relu", c10::DispatchKey::CUDA, &relu);  // torch calls AMD devices "cuda", too
#elif defined(XPU_KERNEL)
  ops.impl("relu", c10::DispatchKey::XPU, &relu);
#elif defined(METAL_KERNEL)
  ops.impl("relu", c10::DispatchKey::MPS, &relu);
#else
  ops.impl("relu", c10::DispatchKey::CPU, &relu);
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
