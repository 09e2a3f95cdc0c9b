#include <torch/all.h>
#include <torch/library.h>

#include <hip/hip_runtime.h>

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "../gemm/gemm_launcher.h"
#include "registration.h"
#include "torch_binding.h"

// out = a b; a is [M, K], b is [K, N], out is [M, N]: float32, contiguous, on one device.
void gemm(torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b) {
  for (const torch::Tensor& tensor : {out, a, b}) {
    TORCH_CHECK(tensor.scalar_type() == torch::kFloat, "gemm: got ", tensor.scalar_type(),
                ", want float32");
    TORCH_CHECK(tensor.dim() == 2 && tensor.is_contiguous(),
                "gemm: tensors must be contiguous matrices");
    TORCH_CHECK(tensor.device() == out.device(), "gemm: tensors must be on one device");
  }
  TORCH_CHECK(a.size(1) == b.size(0) && out.size(0) == a.size(0) && out.size(1) == b.size(1),
              "gemm: ", a.sizes(), " times ", b.sizes(), " is not ", out.sizes());
  const c10::DeviceGuard guard(out.device());
  const c10::Stream stream =
      c10::impl::VirtualGuardImpl(out.device().type()).getStream(out.device());
  const hipError_t status = launch_gemm(
      out.data_ptr<float>(), a.data_ptr<float>(), b.data_ptr<float>(), a.size(0), b.size(1),
      a.size(1), static_cast<hipStream_t>(stream.native_handle()));
  TORCH_CHECK(status == hipSuccess, "gemm: launch failed: ", hipGetErrorString(status));
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("gemm(Tensor! out, Tensor a, Tensor b) -> ()");
  ops.impl("gemm", torch::kCUDA, &gemm);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
