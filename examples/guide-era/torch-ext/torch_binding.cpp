#include "torch_binding.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "../include/double.h"
#include "registration.h"

void double_it(at::Tensor& out, const at::Tensor& x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && out.scalar_type() == at::kFloat,
              "double_it: want float32");
  TORCH_CHECK(x.is_contiguous() && out.is_contiguous() && x.sizes() == out.sizes(),
              "double_it: want contiguous tensors of equal shape");
  const c10::DeviceGuard guard(x.device());
  const c10::impl::VirtualGuardImpl device(x.device().type());
  void* stream = device.getStream(x.device()).native_handle();
  const hipError_t status =
      double_floats(out.mutable_data_ptr<float>(), x.const_data_ptr<float>(), x.numel(),
                    static_cast<hipStream_t>(stream));
  TORCH_CHECK(status == hipSuccess, "double_it: launch failed");
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("double_it(Tensor! out, Tensor x) -> ()");
  ops.impl("double_it", c10::DispatchKey::CUDA, &double_it);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
