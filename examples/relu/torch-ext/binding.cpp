// Two operators that write into tensors of their caller, so that nothing is allocated here.
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "registration.h"
#include "relu.h"

#if defined(ROCM_KERNEL)
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#endif

namespace {

void check_like(const char* name, const at::Tensor& tensor, const at::Tensor& first) {
  TORCH_CHECK(tensor.scalar_type() == at::kFloat, "relu: ", name, " is ", tensor.scalar_type(),
              ", want float32");
  TORCH_CHECK(tensor.is_contiguous(), "relu: ", name, " is not contiguous");
  TORCH_CHECK(tensor.sizes() == first.sizes(), "relu: ", name, " is ", tensor.sizes(), ", want ",
              first.sizes());
  TORCH_CHECK(tensor.device() == first.device(), "relu: ", name, " is on ", tensor.device(),
              ", want ", first.device());
}

#if defined(ROCM_KERNEL)
void* current_stream(const at::Tensor& tensor) {
  // The stream of whatever device torch calls this: no header of one backend is needed.
  const c10::impl::VirtualGuardImpl guard(tensor.device().type());
  return guard.getStream(tensor.device()).native_handle();
}
#endif

void relu(at::Tensor& out, const at::Tensor& x) {
  check_like("x", x, x);
  check_like("out", out, x);
#if defined(ROCM_KERNEL)
  const c10::DeviceGuard guard(x.device());
  const int status = relu_rocm(out.mutable_data_ptr<float>(), x.const_data_ptr<float>(), x.numel(),
                               current_stream(x));
  TORCH_CHECK(status == 0, "relu: launch failed: HIP error ", status);
#else
  relu_cpu(out.mutable_data_ptr<float>(), x.const_data_ptr<float>(), x.numel());
#endif
}

void relu_backward(at::Tensor& grad_x, const at::Tensor& grad, const at::Tensor& out) {
  check_like("grad", grad, grad);
  check_like("out", out, grad);
  check_like("grad_x", grad_x, grad);
#if defined(ROCM_KERNEL)
  const c10::DeviceGuard guard(grad.device());
  const int status =
      relu_backward_rocm(grad_x.mutable_data_ptr<float>(), grad.const_data_ptr<float>(),
                         out.const_data_ptr<float>(), grad.numel(), current_stream(grad));
  TORCH_CHECK(status == 0, "relu: launch failed: HIP error ", status);
#else
  relu_backward_cpu(grad_x.mutable_data_ptr<float>(), grad.const_data_ptr<float>(),
                    out.const_data_ptr<float>(), grad.numel());
#endif
}

}  // namespace

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("relu(Tensor! out, Tensor x) -> ()");
  ops.def("relu_backward(Tensor! grad_x, Tensor grad, Tensor out) -> ()");
#if defined(ROCM_KERNEL)
  ops.impl("relu", c10::DispatchKey::CUDA, &relu);
  ops.impl("relu_backward", c10::DispatchKey::CUDA, &relu_backward);
#else
  ops.impl("relu", c10::DispatchKey::CPU, &relu);
  ops.impl("relu_backward", c10::DispatchKey::CPU, &relu_backward);
#endif
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
