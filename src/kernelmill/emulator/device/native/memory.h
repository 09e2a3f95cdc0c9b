// Memory of the emulated device: host memory that torch believes to be on cuda:0.
//
// A device storage owns a host storage: the context of its DataPtr. Operators see the host storage
// through a CPU tensor; kernels see the address, which is a host address. Live device memory is
// kept in a table, so that the emulator can tell a device pointer from any other.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StorageImpl.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace emulated {

constexpr size_t kAlignment = 512;  // what the caching allocator of a GPU gives
constexpr int kPoison = 0xff;       // NaN in every floating-point type, -1 in every signed one
const c10::Device kDevice(c10::DeviceType::CUDA, 0);

struct Allocation {
  size_t size;
  bool is_fresh;  // nothing was written to it yet
};

// Which addresses are device memory, and what changed since the emulator last asked.
class Registry {
 public:
  void add(void* data, size_t size, bool is_fresh) {
    if (!data || !size) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto address = reinterpret_cast<uint64_t>(data);
    live_[address] = size;
    added_[address] = {size, is_fresh};
    bytes_ += size;
    peak_ = std::max(peak_, bytes_);
  }

  // Ends an allocation. Memory that the emulator was told of is held until it has heard of the end,
  // too: until then its address is taken, even if the last tensor goes in the midst of a launch.
  void remove(void* data, c10::intrusive_ptr<c10::StorageImpl> host) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = live_.find(reinterpret_cast<uint64_t>(data));
    if (found == live_.end()) return;
    bytes_ -= found->second;
    // What came and went between two launches is nobody's business.
    if (!added_.erase(found->first)) {
      removed_.insert(found->first);
      held_.push_back(std::move(host));
    }
    written_.erase(found->first);
    live_.erase(found);
  }

  // An operator of torch had fresh memory in its hands: from now on its contents mean something.
  void write(void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto address = reinterpret_cast<uint64_t>(data);
    const auto found = added_.find(address);
    if (found == added_.end()) {
      written_.insert(address);
    } else {
      found->second.is_fresh = false;
    }
  }

  // Give the changes in order, each as three numbers: what (0 gone, 1 new, 2 new and fresh,
  // 3 written to), address, size. Forget them.
  void take_changes(std::vector<uint64_t>& changes) {
    std::vector<c10::intrusive_ptr<c10::StorageImpl>> known;  // let go last, without the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    known.swap(reported_);
    reported_.swap(held_);
    for (const auto address : removed_) changes.insert(changes.end(), {0, address, 0});
    for (const auto& [address, allocation] : added_) {
      changes.insert(changes.end(), {allocation.is_fresh ? 2u : 1u, address, allocation.size});
    }
    for (const auto address : written_) changes.insert(changes.end(), {3, address, 0});
    removed_.clear();
    added_.clear();
    written_.clear();
  }

  bool contains(const void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto address = reinterpret_cast<uint64_t>(data);
    const auto after = live_.upper_bound(address);
    if (after == live_.begin()) return false;
    const auto found = std::prev(after);
    return address - found->first < found->second;
  }

  size_t bytes() { return locked(bytes_); }
  size_t peak() { return locked(peak_); }
  void reset_peak() {
    const std::lock_guard<std::mutex> lock(mutex_);
    peak_ = bytes_;
  }

 private:
  size_t locked(const size_t& value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return value;
  }

  std::mutex mutex_;
  std::map<uint64_t, size_t> live_;
  std::map<uint64_t, Allocation> added_;
  std::set<uint64_t> removed_, written_;
  std::vector<c10::intrusive_ptr<c10::StorageImpl>> held_, reported_;
  size_t bytes_ = 0, peak_ = 0;
};

inline Registry& registry() {
  static auto* instance = new Registry;  // tensors may outlive static destructors
  return *instance;
}

// The context of a device DataPtr.
struct Owner {
  c10::intrusive_ptr<c10::StorageImpl> host;
  void* data;
  std::atomic<bool> is_fresh;

  Owner(c10::intrusive_ptr<c10::StorageImpl> storage, bool fresh)
      : host(std::move(storage)), data(host->mutable_data()), is_fresh(fresh) {
    registry().add(data, host->nbytes(), fresh);
  }
  ~Owner() { registry().remove(data, std::move(host)); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  static void destroy(void* context) { delete static_cast<Owner*>(context); }
};

// Device memory over a host storage.
inline c10::DataPtr own(c10::intrusive_ptr<c10::StorageImpl> host, bool is_fresh = false) {
  auto* owner = new Owner(std::move(host), is_fresh);
  return {owner->data, owner, &Owner::destroy, kDevice};
}

// The host storage behind a device storage, for an operator to use. Memory that torch did not
// allocate (from_blob) gets a borrowed one.
inline c10::intrusive_ptr<c10::StorageImpl> host_storage(const c10::StorageImpl& device) {
  const c10::DataPtr& pointer = device.data_ptr();
  if (auto* owner = pointer.cast_context<Owner>(&Owner::destroy)) {
    if (owner->is_fresh.exchange(false)) registry().write(owner->data);
    return owner->host;
  }
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), device.nbytes(),
      c10::DataPtr(pointer.get(), c10::Device(c10::DeviceType::CPU)), c10::GetCPUAllocator(),
      /*resizable=*/false);
}

class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* data = nullptr;
    if (size) {
      data = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
      TORCH_CHECK_WITH(OutOfMemoryError, data, "emulated device: cannot allocate ", size, " bytes");
    }
    return {data, data, &std::free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
};

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    auto* allocator = c10::GetCPUAllocator();
    auto host = c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), size, allocator->allocate(size), allocator,
        /*resizable=*/true);
    if (size) std::memset(host->mutable_data(), kPoison, size);
    return own(std::move(host), /*is_fresh=*/true);
  }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    for (auto* bytes : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes}) {
      auto& total = (*bytes)[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
      total.current = static_cast<int64_t>(registry().bytes());
      total.peak = static_cast<int64_t>(registry().peak());
    }
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { registry().reset_peak(); }
};

inline DeviceAllocator& device_allocator() {
  static auto* instance = new DeviceAllocator;
  return *instance;
}

}  // namespace emulated
