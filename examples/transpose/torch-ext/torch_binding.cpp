#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include "registration.h"
#include "transpose.h"

#if defined(ROCM_KERNEL)
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#endif

// Writes input, [rows, columns], into out, [columns, rows].
void transpose(at::Tensor& out, const at::Tensor& input) {
  for (const at::Tensor* tensor : {&input, const_cast<const at::Tensor*>(&out)}) {
    TORCH_CHECK(tensor->scalar_type() == at::kFloat, "transpose: got ", tensor->scalar_type(),
                ", want float32");
    TORCH_CHECK(tensor->is_contiguous(), "transpose: tensors must be contiguous");
    TORCH_CHECK(tensor->device() == input.device(), "transpose: tensors must be on one device");
  }
  TORCH_CHECK(input.dim() == 2, "transpose: input is ", input.sizes(), ", want [rows, columns]");
  TORCH_CHECK(out.dim() == 2 && out.size(0) == input.size(1) && out.size(1) == input.size(0),
              "transpose: out is ", out.sizes(), ", want [", input.size(1), ", ", input.size(0), "]");
  float* to = out.mutable_data_ptr<float>();
  const float* from = input.const_data_ptr<float>();
#if defined(ROCM_KERNEL)
  const c10::DeviceGuard guard(input.device());
  const c10::Stream stream =
      c10::impl::VirtualGuardImpl(input.device().type()).getStream(input.device());
  const hipError_t status = transpose_rocm(to, from, input.size(0), input.size(1),
                                         static_cast<hipStream_t>(stream.native_handle()));
  TORCH_CHECK(status == hipSuccess, "transpose: launch failed: ", hipGetErrorString(status));
#else
  transpose_cpu(to, from, input.size(0), input.size(1));
#endif
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("transpose(Tensor! out, Tensor input) -> ()");
#if defined(ROCM_KERNEL)
  ops.impl("transpose", c10::DispatchKey::CUDA, &transpose);  // torch calls AMD devices "cuda"
#else
  ops.impl("transpose", c10::DispatchKey::CPU, &transpose);
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
