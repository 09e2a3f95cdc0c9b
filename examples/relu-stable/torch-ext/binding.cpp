// Only headers of the stable ABI: torch/csrc/stable and torch/headeronly.
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

#include "registration.h"
#include "relu.h"

using torch::stable::Tensor;

Tensor relu(Tensor x) {
  STD_TORCH_CHECK(x.scalar_type() == torch::headeronly::ScalarType::Float, "relu: x is not float32");
  STD_TORCH_CHECK(x.is_contiguous(), "relu: x is not contiguous");
  Tensor out = torch::stable::empty_like(x);
  float* to = static_cast<float*>(out.data_ptr());
  const float* from = static_cast<const float*>(x.data_ptr());
#if defined(CUDA_KERNEL)
  const torch::stable::accelerator::DeviceGuard guard(x.get_device_index());
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(x.get_device_index(), &stream));
  STD_TORCH_CHECK(relu_cuda(to, from, x.numel(), stream) == 0, "relu: launch failed");
#elif defined(ROCM_KERNEL)
  // A stream says what it is since 2.13. Before, that took a function which PyTorch for CUDA alone has.
  const auto stream = torch::stable::accelerator::getCurrentStream(x.get_device_index());
  STD_TORCH_CHECK(relu_rocm(to, from, x.numel(), stream.nativeHandle()) == 0, "relu: launch failed");
#else
  relu_cpu(to, from, x.numel());
#endif
  return out;
}

STABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) { ops.def("relu(Tensor x) -> Tensor"); }

#if defined(CUDA_KERNEL) || defined(ROCM_KERNEL)
STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CUDA, ops) {
#else
STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CPU, ops) {
#endif
  ops.impl("relu", TORCH_BOX(&relu));
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
