// The functions that Python sees: check the arguments, then call the kernel.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include "scale.h"

namespace {

using tvm::ffi::TensorView;

void check_tensor(const char* name, const TensorView& tensor) {
  const DLDataType type = tensor.dtype();
  if (type.code != kDLFloat || type.bits != 32 || type.lanes != 1)
    TVM_FFI_THROW(TypeError) << "scale: " << name << " is not float32";
  if (!tensor.IsContiguous()) TVM_FFI_THROW(ValueError) << "scale: " << name << " is not contiguous";
  if (tensor.device().device_type != kDLCPU)
    TVM_FFI_THROW(ValueError) << "scale: " << name << " is not on the CPU";
}

void scale(TensorView out, TensorView x, double factor) {
  check_tensor("out", out);
  check_tensor("x", x);
  if (out.numel() != x.numel())
    TVM_FFI_THROW(ValueError) << "scale: out has " << out.numel() << " elements, x has " << x.numel();
  scale_floats(static_cast<float*>(out.data_ptr()), static_cast<const float*>(x.data_ptr()),
               static_cast<float>(factor), x.numel());
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, scale);
