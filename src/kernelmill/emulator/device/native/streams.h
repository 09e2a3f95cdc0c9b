// Device, streams and events. Everything is synchronous: a stream is a name, an event a time.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <chrono>

#include "memory.h"

namespace emulated {

// What the stand-in for the HIP runtime offers; filled in by Python before the first use.
struct Runtime {
  // Takes the error of a failed launch that nobody has seen yet: 0, or an error and its text.
  int (*take_fault)(const char** text) = nullptr;
  const char* (*error_text)(int error) = nullptr;
  // Fills in a hipDeviceProp_t.
  int (*get_properties)(void* properties, int device) = nullptr;
};

inline Runtime& runtime() {
  static Runtime instance;
  return instance;
}

// Raise what a launch left behind, as a GPU does at the next synchronisation.
inline void check_fault() {
  const char* text = nullptr;
  const int code = runtime().take_fault ? runtime().take_fault(&text) : 0;
  if (code) {
    throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, code,
                                std::string("HIP error: ") + text);
  }
}

inline thread_local c10::StreamId current_stream = 0;  // 0 is the default stream

inline c10::StreamId new_stream() {
  // Any address does for a handle, but it must differ from those of other streams.
  return static_cast<c10::StreamId>(reinterpret_cast<intptr_t>(new char));
}

inline void check_device(c10::Device device) {
  TORCH_CHECK(device.index() <= 0, "HIP error: invalid device ordinal ", int(device.index()),
              ": one device is emulated");
}

using Clock = std::chrono::steady_clock;

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kDevice.type(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Device getDevice() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device device) const override {
    check_device(device);
    return kDevice;
  }
  void setDevice(c10::Device device) const override { check_device(device); }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceCapability getDeviceCapability(c10::Device) const override { return {}; }
  void synchronizeDevice(const c10::DeviceIndex) const override { check_fault(); }

  c10::Stream getStream(c10::Device) const override { return stream(current_stream); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(0); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    return stream(new_stream());
  }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(new_stream()); }
  c10::Stream exchangeStream(c10::Stream next) const override {
    return stream(std::exchange(current_stream, next.id()));
  }
  void* getStreamNativeHandle(const c10::Stream which) const override {
    return reinterpret_cast<void*>(static_cast<intptr_t>(which.id()));
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override { check_fault(); }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}

  void record(void** event, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (!*event) *event = new Clock::time_point;
    *static_cast<Clock::time_point*>(*event) = Clock::now();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override { check_fault(); }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Clock::time_point*>(event);
  }
  double elapsedTime(void* start, void* stop, const c10::DeviceIndex) const override {
    TORCH_CHECK(start && stop, "both events must be recorded before their distance is taken");
    const auto distance =
        *static_cast<Clock::time_point*>(stop) - *static_cast<Clock::time_point*>(start);
    return std::chrono::duration<double, std::milli>(distance).count();
  }

 private:
  static c10::Stream stream(c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, kDevice, id);
  }
};

}  // namespace emulated
