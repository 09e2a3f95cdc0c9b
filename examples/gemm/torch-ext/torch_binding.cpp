// The operator: checks what it was given, then gets out of the way.
//
// Nothing of the Python wrapper is trusted: whatever tensors reach the operator, either the launcher gets a
// Problem whose every element lies inside its tensor's storage, or the caller gets an error.
//
// The few headers below instead of <torch/all.h>: a quarter of the compile time.
#include "torch_binding.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <string>

#include "registration.h"

#if defined(CPU_KERNEL)
#include "gemm_cpu.h"
#elif defined(ROCM_KERNEL)
#include <c10/core/impl/VirtualGuardImpl.h>

#include "gemm_gfx942.h"
#else
#error "build.toml has a kernel for the backends cpu and rocm"
#endif

namespace {

using at::Tensor;
using c10::IntArrayRef;

#if defined(CPU_KERNEL)
constexpr auto kDevice = c10::DeviceType::CPU;
constexpr auto kDispatchKey = c10::DispatchKey::CPU;
#else
constexpr auto kDevice = c10::DeviceType::CUDA;  // HIP devices go by this name
constexpr auto kDispatchKey = c10::DispatchKey::CUDA;
#endif

std::string list(IntArrayRef values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

std::string dtype_name(c10::ScalarType type) { return std::string(c10::getDtypeNames(type).first); }

// Whether `tensor` has the shape [rows, cols].
bool has_shape(const Tensor& tensor, int64_t rows, int64_t cols) {
  return tensor.size(0) == rows && tensor.size(1) == cols;
}

void check_matrix(const Tensor& tensor, const char* name, const char* dims, c10::Device device) {
  TORCH_CHECK_VALUE(tensor.device() == device, name, " is on ", tensor.device(), ", want ", device,
                    " like a");
  TORCH_CHECK_VALUE(tensor.dim() == 2, name, " is ", list(tensor.sizes()), ", want two dimensions, ", dims);
}

void check_formats(const Tensor& a, const Tensor& b) {
#if defined(CPU_KERNEL)
  const bool is_fp8 = a.scalar_type() == c10::ScalarType::Float8_e4m3fn ||
                      a.scalar_type() == c10::ScalarType::Float8_e4m3fnuz;
  TORCH_CHECK_TYPE(is_fp8, "a is ", dtype_name(a.scalar_type()), ", want float8_e4m3fn or float8_e4m3fnuz");
#else
  constexpr auto kFormat = gemm::kGfx942Format == gemm::Fp8::kFnuz ? c10::ScalarType::Float8_e4m3fnuz
                                                                   : c10::ScalarType::Float8_e4m3fn;
  TORCH_CHECK_TYPE(a.scalar_type() == kFormat, "a is ", dtype_name(a.scalar_type()), ", want ",
                   dtype_name(kFormat), ", the FP8 format of gfx942");
#endif
  constexpr bool kTakesBoth = kDevice == c10::DeviceType::CPU;
  TORCH_CHECK_TYPE(b.scalar_type() == a.scalar_type(), "b is ", dtype_name(b.scalar_type()), ", want ",
                   dtype_name(a.scalar_type()), " like a", kTakesBoth ? ": cpu takes either" : "");
}

// a and b share K, their first dimension. When they do not, one of them is probably the wrong way round.
void check_operand_shapes(const Tensor& a, const Tensor& b) {
  if (a.size(0) == b.size(0)) return;
  const auto flipped = [](const Tensor& tensor, const std::string& dims) {
    return dims + " = " + list({tensor.size(1), tensor.size(0)});
  };
  const std::string a_is = "a is " + list(a.sizes()), b_is = "b is " + list(b.sizes());
  TORCH_CHECK_VALUE(a.size(1) != b.size(0), a_is, ", want ", flipped(a, "[K, M]"), ": pass a.t()");
  TORCH_CHECK_VALUE(a.size(0) != b.size(1), b_is, ", want ", flipped(b, "[K, N]"), ": pass b.t()");
  TORCH_CHECK_VALUE(a.size(1) != b.size(1), a_is, " and ", b_is, ", want ", flipped(a, "[K, M]"), " and ",
                    flipped(b, "[K, N]"), ": pass a.t() and b.t()");
  TORCH_CHECK_VALUE(false, a_is, " and ", b_is, ", want [K, M] and [K, N] with one K");
}

void check_scale(const Tensor& scale, const char* name, const char* formula, int64_t rows, int64_t cols) {
  TORCH_CHECK_TYPE(scale.scalar_type() == c10::ScalarType::Float, name, " is ",
                   dtype_name(scale.scalar_type()), ", want float32");
  TORCH_CHECK_VALUE(has_shape(scale, rows, cols), name, " is ", list(scale.sizes()), ", want ",
                    list({rows, cols}), " = ", formula,
                    has_shape(scale, cols, rows) ? ": pass " + std::string(name) + ".t()" : "");
}

// Rows must be contiguous; they may be further apart than N, so that out can be a slice of columns.
void check_out(const Tensor& out, int64_t M, int64_t N) {
  TORCH_CHECK_TYPE(out.scalar_type() == c10::ScalarType::BFloat16, "out is ", dtype_name(out.scalar_type()),
                   ", want bfloat16");
  TORCH_CHECK_VALUE(has_shape(out, M, N), "out is ", list(out.sizes()), ", want ", list({M, N}), " = [M, N]");
  const bool is_row_major = (N <= 1 || out.stride(1) == 1) && (M <= 1 || out.stride(0) >= N);
  TORCH_CHECK_VALUE(is_row_major || M == 0 || N == 0, "out has strides ", list(out.strides()),
                    ", want row-major: ", list({N, 1}));
}

// NOTE: a tensor whose storage was resized (as sharded training does) keeps its shape and loses its memory.
void check_memory(const Tensor& tensor, const char* name) {
  if (tensor.numel() == 0) return;
  int64_t last = tensor.storage_offset();
  for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  const auto needed = static_cast<size_t>(last + 1) * tensor.element_size();
  TORCH_CHECK_VALUE(tensor.storage().nbytes() >= needed, name, " needs ", needed, " bytes, its storage has ",
                    tensor.storage().nbytes());
}

gemm::Operand operand(const Tensor& tensor) {
  return {static_cast<const uint8_t*>(tensor.const_data_ptr()), tensor.stride(0), tensor.stride(1)};
}

gemm::Scale scale(const Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), tensor.stride(0), tensor.stride(1)};
}

gemm::Problem check_problem(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& a_scale,
                            const Tensor& b_scale) {
  TORCH_CHECK_VALUE(a.device().type() == kDevice, "a is on ", a.device(), ", want ", kDevice);
  check_matrix(a, "a", "[K, M]", a.device());
  check_matrix(b, "b", "[K, N]", a.device());
  check_matrix(a_scale, "a_scale", "[ceil(K / 128), M]", a.device());
  check_matrix(b_scale, "b_scale", "[ceil(K / 128), ceil(N / 128)]", a.device());
  check_matrix(out, "out", "[M, N]", a.device());
  check_formats(a, b);
  check_operand_shapes(a, b);
  const int64_t M = a.size(1), N = b.size(1), K = a.size(0);
  const int64_t blocks_k = gemm::ceil_div(K, gemm::kScaleBlock);
  const int64_t blocks_n = gemm::ceil_div(N, gemm::kScaleBlock);
  check_scale(a_scale, "a_scale", "[ceil(K / 128), M]", blocks_k, M);
  check_scale(b_scale, "b_scale", "[ceil(K / 128), ceil(N / 128)]", blocks_k, blocks_n);
  check_out(out, M, N);
  const std::pair<const Tensor&, const char*> inputs[] = {
      {a, "a"}, {b, "b"}, {a_scale, "a_scale"}, {b_scale, "b_scale"}};
  for (const auto& [tensor, name] : inputs) {
    TORCH_CHECK_VALUE(!out.is_alias_of(tensor) || out.numel() == 0, "out shares memory with ", name);
    check_memory(tensor, name);
  }
  check_memory(out, "out");
  gemm::Problem problem{};
  problem.M = M;
  problem.N = N;
  problem.K = K;
  problem.format = a.scalar_type() == c10::ScalarType::Float8_e4m3fnuz ? gemm::Fp8::kFnuz : gemm::Fp8::kFn;
  problem.a = operand(a);
  problem.b = operand(b);
  problem.a_scale = scale(a_scale);
  problem.b_scale = scale(b_scale);
  problem.out = static_cast<uint16_t*>(out.mutable_data_ptr());
  problem.out_stride = out.stride(0);
  return problem;
}

void launch(const gemm::Problem& problem, [[maybe_unused]] c10::Device device) {
#if defined(CPU_KERNEL)
  gemm::launch_cpu(problem);
#else
  const c10::DeviceGuard guard(device);
  const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  const int status = gemm::launch_gfx942(problem, stream.native_handle());
  TORCH_CHECK(status == 0, "gemm: the kernel could not be launched on ", device, ": HIP error ", status);
#endif
}

}  // namespace

void gemm_out(Tensor& out, const Tensor& a, const Tensor& b, const Tensor& a_scale, const Tensor& b_scale) {
  launch(check_problem(out, a, b, a_scale, b_scale), a.device());
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("gemm(Tensor(a!) out, Tensor a, Tensor b, Tensor a_scale, Tensor b_scale) -> ()");
  ops.impl("gemm", kDispatchKey, &gemm_out);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
