// A binding through torch's stable interface: one binary for several releases of torch.
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include "kernels.h"

using torch::stable::Tensor;

static Tensor add(const Tensor& a, const Tensor& b) {
  STD_TORCH_CHECK(a.is_cuda() && b.is_cuda(), "a and b must be on the device");
  const torch::stable::accelerator::DeviceGuard guard(a.get_device_index());
  const auto stream = torch::stable::accelerator::getCurrentStream(a.get_device_index());
  auto out = torch::stable::empty_like(a);
  const hipError_t error = launch_add(
      static_cast<const float*>(a.data_ptr()), static_cast<const float*>(b.data_ptr()),
      static_cast<float*>(out.data_ptr()), static_cast<int>(a.numel()),
      static_cast<hipStream_t>(stream.nativeHandle()));
  STD_TORCH_CHECK(error == hipSuccess, "add: ", hipGetErrorString(error));
  return out;
}

STABLE_TORCH_LIBRARY(fixture_stable, m) { m.def("add(Tensor a, Tensor b) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(fixture_stable, CUDA, m) { m.impl("add", TORCH_BOX(&add)); }
