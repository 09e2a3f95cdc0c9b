#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include "registration.h"
#include "row_sum.h"

#if defined(ROCM_KERNEL)
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#endif

// Writes the sum of each row of input, [rows, columns], into out, [rows].
void row_sum(at::Tensor& out, const at::Tensor& input) {
  for (const at::Tensor* tensor : {&input, const_cast<const at::Tensor*>(&out)}) {
    TORCH_CHECK(tensor->scalar_type() == at::kFloat, "row_sum: got ", tensor->scalar_type(),
                ", want float32");
    TORCH_CHECK(tensor->is_contiguous(), "row_sum: tensors must be contiguous");
    TORCH_CHECK(tensor->device() == input.device(), "row_sum: tensors must be on one device");
  }
  TORCH_CHECK(input.dim() == 2, "row_sum: input is ", input.sizes(), ", want [rows, columns]");
  TORCH_CHECK(out.dim() == 1 && out.size(0) == input.size(0), "row_sum: out is ", out.sizes(),
              ", want [", input.size(0), "]");
  TORCH_CHECK(input.size(0) <= INT32_MAX, "row_sum: more than 2^31 - 1 rows");
  float* to = out.mutable_data_ptr<float>();
  const float* from = input.const_data_ptr<float>();
#if defined(ROCM_KERNEL)
  const c10::DeviceGuard guard(input.device());
  const c10::Stream stream =
      c10::impl::VirtualGuardImpl(input.device().type()).getStream(input.device());
  const hipError_t status = row_sum_rocm(to, from, input.size(0), input.size(1),
                                         static_cast<hipStream_t>(stream.native_handle()));
  TORCH_CHECK(status == hipSuccess, "row_sum: launch failed: ", hipGetErrorString(status));
#else
  row_sum_cpu(to, from, input.size(0), input.size(1));
#endif
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("row_sum(Tensor! out, Tensor input) -> ()");
#if defined(ROCM_KERNEL)
  ops.impl("row_sum", c10::DispatchKey::CUDA, &row_sum);  // torch calls AMD devices "cuda"
#else
  ops.impl("row_sum", c10::DispatchKey::CPU, &row_sum);
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
