// out[row, i] = silu(input[row, i]) * input[row, width + i], silu(x) = x / (1 + exp(-x)).
//   input  [rows, 2 * width], contiguous      out  [rows, width], contiguous, of the same type
// Computed in float32 and rounded once, on every backend.
#pragma once

#include <stdint.h>

enum class Number { float32, float16, bfloat16 };

#if defined(CPU_KERNEL)
void silu_and_mul_cpu(void* out, const void* input, Number number, int64_t rows, int64_t width);
#else
#include <cuda_runtime.h>

cudaError_t silu_and_mul_cuda(void* out, const void* input, Number number, int64_t rows,
                              int64_t width, cudaStream_t stream);
#endif
