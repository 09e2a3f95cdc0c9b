// Random numbers of the emulated device: torch's CPU generator under the device's name.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>

#include "memory.h"

namespace emulated {

class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(at::Generator cpu)
      : c10::GeneratorImpl(kDevice, c10::DispatchKeySet(c10::DispatchKey::CUDA)),
        cpu_(std::move(cpu)) {}

  const at::Generator& cpu() const { return cpu_; }

  void set_current_seed(uint64_t seed) override { cpu_.set_current_seed(seed); }
  uint64_t current_seed() const override { return cpu_.current_seed(); }
  uint64_t seed() override { return cpu_.seed(); }
  void set_offset(uint64_t) override {
    TORCH_CHECK(false, "the emulated device's generator has no offset");
  }
  uint64_t get_offset() const override {
    TORCH_CHECK(false, "the emulated device's generator has no offset");
  }
  void set_state(const c10::TensorImpl& state) override {
    cpu_.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return cpu_.unsafeGetGeneratorImpl()->get_state();
  }

 private:
  DeviceGenerator* clone_impl() const override { return new DeviceGenerator(cpu_.clone()); }

  at::Generator cpu_;
};

inline at::Generator new_generator() {
  return at::make_generator<DeviceGenerator>(at::make_generator<at::CPUGeneratorImpl>());
}

inline const at::Generator& default_generator() {
  static auto* instance = new at::Generator(new_generator());
  return *instance;
}

// The generator that a CPU operator must use where the device's one was asked for.
inline at::Generator cpu_generator(const at::Generator& generator) {
  const auto* device = dynamic_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl());
  return device ? device->cpu() : generator;
}

}  // namespace emulated
