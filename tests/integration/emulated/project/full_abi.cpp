// A binding through torch's C++ interface, as most extensions have one.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include "kernels.h"

// `count` is believed, whatever the tensors hold.
static at::Tensor add_trusting(const at::Tensor& a, const at::Tensor& b, int64_t count) {
  const c10::DeviceGuard guard(a.device());
  const auto stream = c10::impl::VirtualGuardImpl(a.device().type()).getStream(a.device());
  auto out = at::empty_like(a);
  const hipError_t error =
      launch_add(a.const_data_ptr<float>(), b.const_data_ptr<float>(), out.mutable_data_ptr<float>(),
                 static_cast<int>(count), static_cast<hipStream_t>(stream.native_handle()));
  TORCH_CHECK(error == hipSuccess, "add: ", hipGetErrorString(error));
  return out;
}

static at::Tensor add(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.is_cuda() && b.is_cuda(), "a and b must be on the device");
  TORCH_CHECK(a.is_contiguous() && b.is_contiguous() && a.sizes() == b.sizes(), "bad shape");
  return add_trusting(a, b, a.numel());
}

TORCH_LIBRARY(fixture_full, m) {
  m.def("add(Tensor a, Tensor b) -> Tensor");
  m.def("add_trusting(Tensor a, Tensor b, int count) -> Tensor");
}
TORCH_LIBRARY_IMPL(fixture_full, CUDA, m) {
  m.impl("add", add);
  m.impl("add_trusting", add_trusting);
}
