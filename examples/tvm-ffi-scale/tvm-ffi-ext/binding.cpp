// The functions that Python sees: check the arguments, then call the kernel.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include "scale.h"

namespace {

using tvm::ffi::TensorView;

#if defined(CUDA_KERNEL)
constexpr DLDeviceType kDevice = kDLCUDA;
constexpr const char* kPlace = "a CUDA device";
#else
constexpr DLDeviceType kDevice = kDLCPU;
constexpr const char* kPlace = "the CPU";
#endif

void check_tensor(const char* name, const TensorView& tensor) {
  const DLDataType type = tensor.dtype();
  if (type.code != kDLFloat || type.bits != 32 || type.lanes != 1)
    TVM_FFI_THROW(TypeError) << "scale: " << name << " is not float32";
  if (!tensor.IsContiguous()) TVM_FFI_THROW(ValueError) << "scale: " << name << " is not contiguous";
  if (tensor.device().device_type != kDevice)
    TVM_FFI_THROW(ValueError) << "scale: " << name << " is not on " << kPlace;
}

void scale(TensorView out, TensorView x, double factor) {
  check_tensor("out", out);
  check_tensor("x", x);
  if (out.numel() != x.numel())
    TVM_FFI_THROW(ValueError) << "scale: out has " << out.numel() << " elements, x has " << x.numel();
  float* to = static_cast<float*>(out.data_ptr());
  const float* from = static_cast<const float*>(x.data_ptr());
#if defined(CUDA_KERNEL)
  const int device = x.device().device_id;
  if (out.device().device_id != device) TVM_FFI_THROW(ValueError) << "scale: two devices";
  void* stream = TVMFFIEnvGetStream(kDLCUDA, device);  // that of the tensors' own library
  if (const int error = scale_cuda(to, from, static_cast<float>(factor), x.numel(), device, stream))
    TVM_FFI_THROW(RuntimeError) << "scale: CUDA error " << error;
#else
  scale_floats(to, from, static_cast<float>(factor), x.numel());
#endif
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, scale);
