// Run an operator on device tensors by its CPU kernel, in place: a CPU tensor over the same memory
// stands for each device tensor, and results are given back as device tensors. Nothing is copied.
#pragma once

#include <ATen/SparseTensorImpl.h>
#include <ATen/core/TensorBody.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include "random.h"
#include "streams.h"

namespace emulated {

class Call {
 public:
  Call(const c10::OperatorHandle& op, torch::jit::Stack& stack) : op_(op), stack_(stack) {}

  // `key`: of the CPU's kernel.
  void run(c10::DispatchKey key) {
    check_namespace();
    const auto& arguments = op_.schema().arguments();
    const size_t first = stack_.size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
      stack_[first + i] = to_host(std::move(stack_[first + i]), arguments[i]);
    }
    check_mixture();
    op_.redispatchBoxed(c10::DispatchKeySet(key), &stack_);
    for (const auto& pair : pairs_) write_back(pair);
    for (const auto& pair : sparse_) write_back_sparse(pair);
    const size_t results = op_.schema().returns().size();
    for (size_t i = stack_.size() - results; i < stack_.size(); ++i) {
      stack_[i] = to_device(std::move(stack_[i]));
    }
  }

 private:
  struct Pair {
    at::Tensor device, host;
  };

  std::string_view name() const {
    const std::string& full = op_.schema().name();
    return std::string_view(full).substr(full.find("::") + 2);
  }

  // An operator of a library must have a kernel for the device; its CPU kernel is not a substitute.
  void check_namespace() const {
    const auto space = op_.schema().getNamespace();
    for (const std::string_view known : {"aten", "prims", "quantized", "torchvision"}) {
      if (space == known) return;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "Could not run '", op_.schema().operator_name(),
        "' with arguments from the 'CUDA' backend: it has no kernel for the (emulated) device");
  }

  c10::IValue to_host(c10::IValue value, const c10::Argument& argument) {
    if (value.isTensor()) return to_host(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& item : value.toTensorVector()) list.push_back(to_host(item));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& item : value.toOptionalTensorVector()) {
        list.push_back(item ? std::optional(to_host(*item)) : std::nullopt);
      }
      return list;
    }
    if (value.isStorage()) {
      const auto storage = value.toStorage();
      return storage.device().is_cuda() ? to_host(storage) : storage;
    }
    if (value.isDevice() && value.toDevice().is_cuda()) return c10::Device(c10::DeviceType::CPU);
    if (value.isGenerator()) {
      has_generator_ = true;
      return cpu_generator(value.toGenerator());
    }
    if (value.isNone() && is_optional_generator(argument)) return cpu_generator(default_generator());
    return value;
  }

  static bool is_optional_generator(const c10::Argument& argument) {
    const auto optional = argument.type()->cast<c10::OptionalType>();
    return optional && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
  }

  at::Tensor to_host(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.is_meta()) return tensor;
    if (!tensor.is_cuda()) {
      other_ = other_.defined() || tensor.dim() == 0 ? other_ : tensor;
      cpu_inputs_.push_back(tensor);
      return tensor;
    }
    for (const auto& pair : pairs_) {
      if (pair.device.is_same(tensor)) return pair.host;
    }
    if (tensor.layout() == c10::kSparse) {
      const auto& impl = sparse_impl(tensor);
      auto host = wrap_sparse(to_host(impl.indices()), to_host(impl.values()), impl,
                              c10::DispatchKey::SparseCPU);
      sparse_.push_back({tensor, host});
      return host;
    }
    check_strided(tensor);
    const auto& impl = *tensor.unsafeGetTensorImpl();
    auto host = wrap(to_host(tensor.storage()), impl, c10::DispatchKey::CPU);
    pairs_.push_back({tensor, host});
    return host;
  }

  c10::Storage to_host(const c10::Storage& device) {
    for (const auto& known : storages_) {
      if (known.second.unsafeGetStorageImpl() == device.unsafeGetStorageImpl()) return known.first;
    }
    c10::Storage host(host_storage(*device.unsafeGetStorageImpl()));
    storages_.emplace_back(host, device);
    return host;
  }

  // The device storage over `host`: that of an argument, else a new one.
  c10::Storage device_storage(const c10::Storage& host) {
    for (const auto& known : storages_) {
      if (known.first.unsafeGetStorageImpl() == host.unsafeGetStorageImpl()) return known.second;
    }
    auto* impl = host.unsafeGetStorageImpl();
    c10::Storage device(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), impl->nbytes(),
        own(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(impl)), &device_allocator(),
        /*resizable=*/true));
    storages_.emplace_back(host, device);
    return device;
  }

  void check_strided(const at::Tensor& tensor) const {
    TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::kStrided, "'", op_.schema().name(),
                                "': the emulated device has no tensors of layout ",
                                tensor.layout());
  }

  // NOTE: never by operators such as _indices: on a device tensor those lead back here.
  static at::SparseTensorImpl& sparse_impl(const at::Tensor& tensor) {
    return *static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
  }

  static void fill_sparse(at::SparseTensorImpl& impl, const at::Tensor& indices,
                          const at::Tensor& values, const at::SparseTensorImpl& like) {
    impl.raw_resize_(like.sparse_dim(), like.dense_dim(), like.sizes());
    impl.set_indices_and_values_unsafe(indices, values);
    impl.set_coalesced(like.coalesced());
  }

  static at::Tensor wrap_sparse(const at::Tensor& indices, const at::Tensor& values,
                                const at::SparseTensorImpl& like, c10::DispatchKey key) {
    auto tensor = at::detail::make_tensor<at::SparseTensorImpl>(c10::DispatchKeySet(key),
                                                                like.dtype());
    fill_sparse(sparse_impl(tensor), indices, values, like);
    return tensor;
  }

  void write_back_sparse(const Pair& pair) {
    const auto& host = sparse_impl(pair.host);
    fill_sparse(sparse_impl(pair.device), to_device(host.indices()), to_device(host.values()), host);
  }

  // A tensor over `storage` that looks at it as `like` does.
  static at::Tensor wrap(c10::Storage storage, const c10::TensorImpl& like, c10::DispatchKey key) {
    auto tensor = at::detail::make_tensor<c10::TensorImpl>(
        std::move(storage), c10::DispatchKeySet(key), like.dtype());
    auto* impl = tensor.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
    impl->_set_conj(like.is_conj());
    impl->_set_neg(like.is_neg());
    if (like.is_wrapped_number()) impl->set_wrapped_number(true);
    return tensor;
  }

  // A GPU kernel cannot read host memory: the operators that may mix do the copy themselves.
  void check_mixture() const {
    // A generator of the device alone brings an operator on CPU tensors here.
    TORCH_CHECK(!has_generator_ || !pairs_.empty() || cpu_inputs_.empty(),
                "Expected a 'cpu' device type for generator but found 'cuda'");
    if (pairs_.empty() || !other_.defined()) return;
    for (const std::string_view start :
         {"copy_", "index", "_index", "_foreach_copy_", "_copy_from", "_ctc_loss",
          "_pack_padded_sequence", "set_", "record_stream"}) {
      if (name().substr(0, start.size()) == start) return;
    }
    TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two "
                "devices, cuda:0 and cpu! (when checking arguments of ", op_.schema().name(), ")");
  }

  // Resizing, set_ and out= change a tensor's shape, its memory, even its storage.
  void write_back(const Pair& pair) {
    auto* device = pair.device.unsafeGetTensorImpl();
    const auto* host = pair.host.unsafeGetTensorImpl();
    const auto storage = device_storage(pair.host.storage());
    if (storage.unsafeGetStorageImpl() != device->unsafe_storage().unsafeGetStorageImpl()) {
      device->set_storage_keep_dtype(storage);
    }
    refresh(*storage.unsafeGetStorageImpl(), *pair.host.storage().unsafeGetStorageImpl());
    if (device->sizes() != host->sizes() || device->strides() != host->strides() ||
        device->storage_offset() != host->storage_offset()) {
      device->set_sizes_and_strides(host->sizes(), host->strides(), host->storage_offset());
    }
  }

  // A host storage got other memory: so does the device storage over it.
  static void refresh(c10::StorageImpl& device, c10::StorageImpl& host) {
    if (device.data() == host.data() && device.nbytes() == host.nbytes()) return;
    device.set_data_ptr_noswap({});  // forgets the old memory before the new is entered
    device.set_data_ptr_noswap(own(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(&host)));
    device.set_nbytes(host.nbytes());
  }

  c10::IValue to_device(c10::IValue value) {
    if (value.isTensor()) return to_device(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& item : value.toTensorVector()) list.push_back(to_device(item));
      return list;
    }
    return value;
  }

  at::Tensor to_device(const at::Tensor& result) {
    if (!result.defined() || !result.is_cpu()) return result;
    for (const auto& input : cpu_inputs_) {
      if (input.is_same(result)) return result;
    }
    for (const auto& pair : pairs_) {
      if (pair.host.is_same(result)) return pair.device;
    }
    for (const auto& pair : sparse_) {
      if (pair.host.is_same(result)) return pair.device;
    }
    if (result.layout() == c10::kSparse) {
      const auto& impl = sparse_impl(result);
      return wrap_sparse(to_device(impl.indices()), to_device(impl.values()), impl,
                         c10::DispatchKey::SparseCUDA);
    }
    check_strided(result);
    const auto& impl = *result.unsafeGetTensorImpl();
    return wrap(device_storage(result.storage()), impl, c10::DispatchKey::CUDA);
  }

  const c10::OperatorHandle& op_;
  torch::jit::Stack& stack_;
  std::vector<Pair> pairs_, sparse_;
  std::vector<std::pair<c10::Storage, c10::Storage>> storages_;  // of the host, of the device
  std::vector<at::Tensor> cpu_inputs_;
  bool has_generator_ = false;
  at::Tensor other_;  // a CPU tensor with dimensions among the arguments
};

template <c10::DispatchKey key>
void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet,
                     torch::jit::Stack* stack) {
  const std::string& name = op.schema().name();
  // Where a GPU's results reach the host, its failures do.
  if (name == "aten::copy_" || name == "aten::_local_scalar_dense") check_fault();
  Call(op, *stack).run(key);
}

}  // namespace emulated
