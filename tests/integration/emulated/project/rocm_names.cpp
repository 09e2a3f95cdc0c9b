// Uses what only a ROCm build of torch exports, declared as its headers do, and needs its library.
#include <c10/core/Stream.h>

#include <string>

struct ihipStream_t;

namespace c10::cuda {  // as hipify writes it since torch 2.9
class CUDAStream {
 public:
  ihipStream_t* stream() const;

 private:
  Stream stream_;
};
CUDAStream getCurrentCUDAStream(DeviceIndex index = -1);
DeviceIndex current_device();
void c10_cuda_check_implementation(int32_t error, const char* file, const char* function,
                                   uint32_t line, bool assertions);
}  // namespace c10::cuda

namespace c10::hip {  // and before
class HIPStream {
 public:
  ihipStream_t* stream() const;

 private:
  Stream stream_;
};
HIPStream getCurrentHIPStream(DeviceIndex index = -1);
}  // namespace c10::hip

namespace at::cuda {
const char* getCurrentDeviceProperties();  // begins with the device's name
}

extern "C" {
int aoti_torch_get_current_cuda_stream(int32_t index, void** stream);

// 1 if three ways agree on the current stream.
int is_current_stream(void* expected) {
  void* shim = nullptr;
  aoti_torch_get_current_cuda_stream(0, &shim);
  return shim == expected && c10::cuda::getCurrentCUDAStream().stream() == expected &&
         c10::hip::getCurrentHIPStream().stream() == expected && !c10::cuda::current_device();
}

const char* device_name() { return at::cuda::getCurrentDeviceProperties(); }

// The text of the exception for a HIP error.
const char* error_text(int error) {
  static std::string text;
  try {
    c10::cuda::c10_cuda_check_implementation(error, "file", "function", 1, false);
    return "none";
  } catch (const std::exception& exception) {
    text = exception.what();
    return text.c_str();
  }
}
}
