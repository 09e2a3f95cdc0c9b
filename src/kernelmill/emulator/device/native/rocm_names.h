// What libc10_hip.so and libtorch_hip.so of a ROCm build export and kernels commonly use.
//
// Namespaces: torch's hipify kept c10::cuda from release 2.0 of it on, and wrote c10::hip before.
// Only the names and types of the functions matter: a library finds them by their mangled names.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <cstring>

#include "streams.h"

#define ROCM_EXPORT __attribute__((visibility("default"), used))

struct ihipStream_t;

namespace emulated {

inline c10::Stream stream_of_torch() { return Guard().getStream(kDevice); }

// hipDeviceProp_t of HIP 6 and 7, filled in by the stand-in.
struct RawProperties {
  alignas(8) char bytes[1472];
};

inline RawProperties* raw_properties() {
  static RawProperties properties;
  static const int error =
      runtime().get_properties ? runtime().get_properties(&properties, 0) : 1;
  TORCH_CHECK(!error, "HIP error: no properties of the emulated device");
  return &properties;
}

inline void check_hip(int error, const char* file, const char* function, int line) {
  if (!error) return;
  const char* text = runtime().error_text ? runtime().error_text(error) : "unknown";
  throw c10::AcceleratorError({function, file, static_cast<uint32_t>(line)}, error,
                              std::string("HIP error: ") + text);
}

}  // namespace emulated

// The stream class has the layout of the real one: a c10::Stream.
#define EMULATED_ROCM_NAMES(space, Name)                                                       \
  namespace c10::space {                                                                       \
  class Name##Stream {                                                                         \
   public:                                                                                     \
    explicit Name##Stream(c10::Stream stream) : stream_(stream) {}                             \
    ROCM_EXPORT ihipStream_t* stream() const;                                                  \
    ROCM_EXPORT bool query() const;                                                            \
    ROCM_EXPORT void synchronize() const;                                                      \
                                                                                               \
   private:                                                                                    \
    c10::Stream stream_;                                                                       \
  };                                                                                           \
  ihipStream_t* Name##Stream::stream() const {                                                 \
    return reinterpret_cast<ihipStream_t*>(static_cast<intptr_t>(stream_.id()));               \
  }                                                                                            \
  bool Name##Stream::query() const { return true; }                                            \
  void Name##Stream::synchronize() const { emulated::check_fault(); }                          \
  ROCM_EXPORT Name##Stream getCurrent##Name##Stream(DeviceIndex) {                             \
    return Name##Stream(emulated::stream_of_torch());                                          \
  }                                                                                            \
  ROCM_EXPORT Name##Stream getDefault##Name##Stream(DeviceIndex) {                             \
    return Name##Stream(emulated::Guard().getDefaultStream(emulated::kDevice));                \
  }                                                                                            \
  ROCM_EXPORT Name##Stream getStreamFromPool(const bool, DeviceIndex) {                        \
    return Name##Stream(emulated::Guard().getNewStream(emulated::kDevice, 0));                 \
  }                                                                                            \
  ROCM_EXPORT Name##Stream getStreamFromPool(const int, DeviceIndex) {                         \
    return Name##Stream(emulated::Guard().getNewStream(emulated::kDevice, 0));                 \
  }                                                                                            \
  ROCM_EXPORT DeviceIndex device_count() noexcept { return 1; }                                \
  ROCM_EXPORT DeviceIndex device_count_ensure_non_zero() { return 1; }                         \
  ROCM_EXPORT DeviceIndex current_device() { return 0; }                                       \
  ROCM_EXPORT void set_device(DeviceIndex index, const bool) {                                 \
    emulated::check_device(c10::Device(emulated::kDevice.type(), index));                      \
  }                                                                                            \
  ROCM_EXPORT void set_device(DeviceIndex index) { set_device(index, false); }                 \
  ROCM_EXPORT void device_synchronize() { emulated::check_fault(); }                           \
  ROCM_EXPORT void warn_or_error_on_sync() {}                                                  \
  ROCM_EXPORT int GetDevice(DeviceIndex* index) {                                              \
    *index = 0;                                                                                \
    return 0;                                                                                  \
  }                                                                                            \
  ROCM_EXPORT int SetDevice(DeviceIndex index, const bool) { return index > 0 ? 101 : 0; }     \
  ROCM_EXPORT int MaybeSetDevice(DeviceIndex index) { return index > 0 ? 101 : 0; }            \
  ROCM_EXPORT DeviceIndex ExchangeDevice(DeviceIndex index) {                                  \
    set_device(index, false);                                                                  \
    return 0;                                                                                  \
  }                                                                                            \
  ROCM_EXPORT DeviceIndex MaybeExchangeDevice(DeviceIndex) { return 0; }                       \
  }

EMULATED_ROCM_NAMES(cuda, CUDA)
EMULATED_ROCM_NAMES(hip, HIP)
#undef EMULATED_ROCM_NAMES

// What torch's device guard refers to; the guard of the emulated device is used in its place.
namespace c10::cuda::CUDACachingAllocator {
class CUDAAllocator;
ROCM_EXPORT std::atomic<CUDAAllocator*> allocator{nullptr};
}  // namespace c10::cuda::CUDACachingAllocator

namespace c10::cuda {
ROCM_EXPORT void setCurrentCUDAStream(CUDAStream stream) {
  emulated::current_stream = static_cast<c10::StreamId>(reinterpret_cast<intptr_t>(stream.stream()));
}
// The type of the line number changed between releases of torch.
ROCM_EXPORT void c10_cuda_check_implementation(const int32_t error, const char* file,
                                               const char* function, const uint32_t line,
                                               const bool) {
  emulated::check_hip(error, file, function, static_cast<int>(line));
}
ROCM_EXPORT void c10_cuda_check_implementation(const int32_t error, const char* file,
                                               const char* function, const int line, const bool) {
  emulated::check_hip(error, file, function, line);
}
}  // namespace c10::cuda

namespace c10::hip {
ROCM_EXPORT void setCurrentHIPStream(HIPStream stream) {
  emulated::current_stream = static_cast<c10::StreamId>(reinterpret_cast<intptr_t>(stream.stream()));
}
ROCM_EXPORT void c10_hip_check_implementation(const int32_t error, const char* file,
                                              const char* function, const int line, const bool) {
  emulated::check_hip(error, file, function, line);
}
}  // namespace c10::hip

// Mangled by the name of the struct that they return a pointer to, which is not mangled itself.
namespace at::cuda {
ROCM_EXPORT void* getCurrentDeviceProperties() { return emulated::raw_properties(); }
ROCM_EXPORT void* getDeviceProperties(c10::DeviceIndex index) {
  emulated::check_device(c10::Device(emulated::kDevice.type(), index));
  return emulated::raw_properties();
}
ROCM_EXPORT int warp_size() { return 64; }
ROCM_EXPORT c10::Allocator* getCUDADeviceAllocator() { return &emulated::device_allocator(); }
}  // namespace at::cuda

namespace at::hip {
ROCM_EXPORT void* getCurrentDeviceProperties() { return emulated::raw_properties(); }
ROCM_EXPORT void* getDeviceProperties(c10::DeviceIndex index) {
  return at::cuda::getDeviceProperties(index);
}
ROCM_EXPORT int warp_size() { return 64; }
}  // namespace at::hip

// torch's stable C interface, the part that only GPU builds have. Each returns 0 for success.
namespace emulated {
template <typename Function>
int guarded(Function&& function) {
  try {
    function();
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}
}  // namespace emulated

extern "C" {
ROCM_EXPORT int aoti_torch_get_current_cuda_stream(int32_t, void** stream) {
  *stream = emulated::Guard().getStreamNativeHandle(emulated::stream_of_torch());
  return 0;
}
ROCM_EXPORT int aoti_torch_create_cuda_guard(int32_t index, void** guard) {
  return emulated::guarded([&] {
    *guard = new c10::DeviceGuard(c10::Device(emulated::kDevice.type(), static_cast<int8_t>(index)));
  });
}
ROCM_EXPORT int aoti_torch_delete_cuda_guard(void* guard) {
  delete static_cast<c10::DeviceGuard*>(guard);
  return 0;
}
ROCM_EXPORT int aoti_torch_cuda_guard_set_index(void* guard, int32_t index) {
  return emulated::guarded([&] {
    static_cast<c10::DeviceGuard*>(guard)->set_index(static_cast<int8_t>(index));
  });
}
ROCM_EXPORT int torch_set_current_cuda_stream(void* stream, int32_t) {
  emulated::current_stream = static_cast<c10::StreamId>(reinterpret_cast<intptr_t>(stream));
  return 0;
}
ROCM_EXPORT int torch_get_cuda_stream_from_pool(bool, int32_t, void** stream) {
  *stream = reinterpret_cast<void*>(static_cast<intptr_t>(emulated::new_stream()));
  return 0;
}
ROCM_EXPORT int torch_cuda_stream_synchronize(void*, int32_t) {
  return emulated::guarded([] { emulated::check_fault(); });
}
ROCM_EXPORT int torch_c10_cuda_check_msg(int32_t error, const char*, const char*, uint32_t, bool,
                                         char** text) {
  *text = nullptr;
  if (error) *text = strdup(emulated::runtime().error_text(error));
  return 0;
}
ROCM_EXPORT void torch_c10_cuda_free_error_msg(char* text) { free(text); }
}
