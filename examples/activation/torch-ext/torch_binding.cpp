#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include "registration.h"
#include "silu_and_mul.h"

#if !defined(CPU_KERNEL)
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#endif

static Number number_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return Number::float32;
    case at::kHalf: return Number::float16;
    case at::kBFloat16: return Number::bfloat16;
    default: TORCH_CHECK(false, "silu_and_mul: got ", tensor.scalar_type(),
                         ", want float32, float16 or bfloat16");
  }
}

// Writes silu(input[:, :width]) * input[:, width:] into out; leading dimensions are rows.
void silu_and_mul(at::Tensor& out, const at::Tensor& input) {
  const Number number = number_of(input);
  TORCH_CHECK(out.scalar_type() == input.scalar_type(), "silu_and_mul: out is ",
              out.scalar_type(), ", want ", input.scalar_type());
  TORCH_CHECK(out.device() == input.device(), "silu_and_mul: tensors must be on one device");
  TORCH_CHECK(input.is_contiguous() && out.is_contiguous(),
              "silu_and_mul: tensors must be contiguous");
  TORCH_CHECK(input.dim() >= 1 && input.size(-1) % 2 == 0, "silu_and_mul: input is ",
              input.sizes(), ", want an even last dimension");
  auto want = input.sizes().vec();
  want.back() /= 2;
  TORCH_CHECK(out.sizes() == at::IntArrayRef(want), "silu_and_mul: out is ", out.sizes(),
              ", want ", at::IntArrayRef(want));
  const int64_t width = want.back(), rows = width ? out.numel() / width : 0;
#if defined(CPU_KERNEL)
  silu_and_mul_cpu(out.mutable_data_ptr(), input.const_data_ptr(), number, rows, width);
#else
  const c10::DeviceGuard guard(input.device());
  const c10::Stream stream =
      c10::impl::VirtualGuardImpl(input.device().type()).getStream(input.device());
  const cudaError_t status =
      silu_and_mul_cuda(out.mutable_data_ptr(), input.const_data_ptr(), number, rows, width,
                        static_cast<cudaStream_t>(stream.native_handle()));
  TORCH_CHECK(status == cudaSuccess, "silu_and_mul: launch failed: ", cudaGetErrorString(status));
#endif
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("silu_and_mul(Tensor! out, Tensor input) -> ()");
#if defined(CPU_KERNEL)
  ops.impl("silu_and_mul", c10::DispatchKey::CPU, &silu_and_mul);
#else
  ops.impl("silu_and_mul", c10::DispatchKey::CUDA, &silu_and_mul);  // AMD devices too
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
