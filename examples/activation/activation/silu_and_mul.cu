// SiLU of one half of each row, times the other half. CUDA, and HIP by translation.
// Work    one block = up to kThreads columns of one row, and of the rows grid.y, 2 * grid.y, ... below
// Limits  none: edges are masked, and 64-bit offsets reach any row
#include "numeric.cuh"
#include "silu_and_mul.h"

constexpr int kThreads = 256;
constexpr int64_t kMaxGridRows = 65535;  // the least that any device offers in the grid's y

template <typename T>
__global__ void __launch_bounds__(kThreads)
    silu_and_mul_kernel(T* out, const T* input, int64_t rows, int64_t width) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (column >= width) return;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const T* gate = input + row * 2 * width;
    const float x = to_float(gate[column]);
    const float silu = x / (1.0f + expf(-x));
    out[row * width + column] = from_float<T>(silu * to_float(gate[width + column]));
  }
}

template <typename T>
static cudaError_t launch(void* out, const void* input, int64_t rows, int64_t width,
                          cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((width + kThreads - 1) / kThreads),
                  static_cast<unsigned>(rows < kMaxGridRows ? rows : kMaxGridRows));
  silu_and_mul_kernel<T><<<grid, kThreads, 0, stream>>>(
      static_cast<T*>(out), static_cast<const T*>(input), rows, width);
  return cudaGetLastError();
}

cudaError_t silu_and_mul_cuda(void* out, const void* input, Number number, int64_t rows,
                              int64_t width, cudaStream_t stream) {
  if (rows == 0 || width == 0) return cudaSuccess;  // a launch of no blocks is an error
  switch (number) {
    case Number::float32: return launch<float>(out, input, rows, width, stream);
    case Number::float16: return launch<__half>(out, input, rows, width, stream);
    case Number::bfloat16: return launch<__nv_bfloat16>(out, input, rows, width, stream);
  }
  return cudaErrorInvalidValue;
}
