// out[column, row] = input[row, column]. Both are float32 and contiguous; input is [rows, columns].
#pragma once

#include <stdint.h>

#if defined(ROCM_KERNEL)
#include <hip/hip_runtime.h>

// Starts on the caller's stream and does not wait.
hipError_t transpose_rocm(float* out, const float* input, int64_t rows, int64_t columns, hipStream_t stream);
#else
void transpose_cpu(float* out, const float* input, int64_t rows, int64_t columns);
#endif
