// Gives a CPU-only PyTorch one device called cuda:0, in host memory. One translation unit.
//
// Tied to the torch it is compiled against. NOTE: never compile this with USE_ROCM: it changes the
// virtual functions of CUDAHooksInterface, and the CPU build of torch was made without.
#include <ATen/EmptyTensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <memory>

#include "fallback.h"
#include "rocm_names.h"

namespace {

using emulated::kDevice;

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  emulated::check_device(device.value_or(kDevice));
  return at::detail::empty_generic(size, &emulated::device_allocator(),
                                   c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   at::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device> device, std::optional<bool>) {
  emulated::check_device(device.value_or(kDevice));
  return at::detail::empty_strided_generic(size, stride, &emulated::device_allocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           at::dtype_or_default(dtype));
}

// A tensor of zeros without memory, which autograd makes: its storage must stay empty.
class NoMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t) override { return {nullptr, kDevice}; }
  void copy_data(void*, const void*, size_t) const override {}
};

at::Tensor efficient_zeros(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                           std::optional<at::Layout>, std::optional<at::Device>,
                           std::optional<bool>) {
  static NoMemory allocator;
  return at::detail::empty_generic(
      size, &allocator,
      c10::DispatchKeySet({c10::DispatchKey::CUDA, c10::DispatchKey::ZeroTensor}),
      at::dtype_or_default(dtype), std::nullopt);
}

void answer_false(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  torch::jit::drop(*stack, op.schema().arguments().size());
  stack->emplace_back(false);
}

void record_stream(at::Tensor&, c10::Stream) {}

// NOTE: torch looks the hooks up by this class's name.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasROCM() const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex current_device() const override { return 0; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex index) const override { check(index); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override { return check(index); }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return check(index);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return emulated::default_generator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return emulated::new_generator();
  }
  c10::Device getDeviceFromPtr(void* data) const override {
    TORCH_CHECK(emulated::registry().contains(data),
                "the specified pointer is not memory of the emulated device");
    return kDevice;
  }
  bool isPinnedPtr(const void*) const override { return false; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetCPUAllocator(); }
  c10::Allocator* getCUDADeviceAllocator() const override { return &emulated::device_allocator(); }
  void deviceSynchronize(c10::DeviceIndex) const override { emulated::check_fault(); }
  std::string showConfig() const override { return "emulated device"; }

 private:
  static c10::DeviceIndex check(c10::DeviceIndex index) {
    if (index >= 0) emulated::check_device(c10::Device(kDevice.type(), index));
    return 0;
  }
};

// Operators whose kernel for all devices does not know this one, so that the CPU's is forced.
bool is_forced(const c10::OperatorName& name) {
  for (const char* forced :
       {"aten::copy_", "aten::convolution", "aten::convolution_backward"}) {
    if (name.name == forced && name.overload_name.empty()) return true;
  }
  return false;
}

// NOTE: one registration for each operator. A composite kernel beats the fallback of a backend, so
// TORCH_LIBRARY_IMPL(_, CUDA) alone would not be asked for most of them.
template <c10::DispatchKey device, c10::DispatchKey cpu>
void register_operators() {
  // Kept for ever: its end would take the registrations back.
  auto* library = new torch::Library(torch::Library::IMPL, "aten", device, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.getNamespace() != "aten") continue;
    const auto op = dispatcher.findSchema(name);
    if (!op || op->hasKernelForDispatchKey(device)) continue;
    if (!op->hasKernelForDispatchKey(cpu) && !is_forced(name)) continue;
    const auto full = c10::toString(name);
    library->impl(full.c_str(),
                  torch::CppFunction::makeFromBoxedFunction<&emulated::fallback<cpu>>());
  }
}

}  // namespace

namespace at {
using ::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks)
}  // namespace at

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("_efficientzerotensor", efficient_zeros);
  m.impl("as_strided", at::native::as_strided_tensorimpl);
  m.impl("view", at::native::view);
  m.impl("record_stream", record_stream);
  for (const char* name : {"_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor",
                           "_use_miopen_ctc_loss", "_use_miopen_ctc_loss.Tensor"}) {
    if (c10::Dispatcher::singleton().findSchema(
            torch::jit::parseName(std::string("aten::") + name))) {
      m.impl(name, torch::CppFunction::makeFromBoxedFunction<&answer_false>());
    }
  }
}

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(
      torch::CppFunction::makeFromBoxedFunction<&emulated::fallback<c10::DispatchKey::CPU>>());
}

TORCH_LIBRARY_IMPL(_, SparseCUDA, m) {
  m.fallback(
      torch::CppFunction::makeFromBoxedFunction<&emulated::fallback<c10::DispatchKey::SparseCPU>>());
}

TORCH_LIBRARY(kernelmill_emulator, m) {
  m.def("default_generator() -> Generator?",
        []() -> std::optional<at::Generator> { return emulated::default_generator(); });
}

// Interface to Python, by ctypes.
extern "C" {

// Registers everything. Separate from loading, so that a failure is an exception of the caller.
const char* emulated_device_start(const emulated::Runtime* runtime) {
  static std::string problem;
  try {
    emulated::runtime() = *runtime;
    static emulated::HostAllocator host;
    c10::SetCPUAllocator(&host, /*priority=*/1);
    c10::SetAllocator(kDevice.type(), &emulated::device_allocator());
    c10::impl::registerDeviceGuard(kDevice.type(), new emulated::Guard);
    register_operators<c10::DispatchKey::CUDA, c10::DispatchKey::CPU>();
    register_operators<c10::DispatchKey::SparseCUDA, c10::DispatchKey::SparseCPU>();
    return nullptr;
  } catch (const std::exception& error) {
    problem = error.what();
    return problem.c_str();
  }
}

// Gives the changes of the device memory since the last call, see Registry::take_changes. The
// array lives until the next call in the same thread. Returns the number of changes.
size_t emulated_device_changes(const uint64_t** changes) {
  static thread_local std::vector<uint64_t> taken;
  taken.clear();
  emulated::registry().take_changes(taken);
  *changes = taken.data();
  return taken.size() / 3;
}

// Gives a storage of the device other memory. What fits is kept.
void emulated_device_resize(void* storage, size_t size) {
  auto& device = *static_cast<c10::StorageImpl*>(storage);
  auto memory = emulated::device_allocator().allocate(size);
  const size_t kept = std::min(size, device.nbytes());
  if (kept) std::memcpy(memory.get(), device.data(), kept);
  device.set_data_ptr_noswap(std::move(memory));
  device.set_nbytes(size);
}

size_t emulated_device_bytes() { return emulated::registry().bytes(); }
size_t emulated_device_peak_bytes() { return emulated::registry().peak(); }
void emulated_device_reset_peak() { emulated::registry().reset_peak(); }
}
