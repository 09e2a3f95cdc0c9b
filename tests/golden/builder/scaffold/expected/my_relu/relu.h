// What the binding and the kernels agree on: count floats, contiguous; out may be input.
#pragma once

#include <stdint.h>

#if defined(ROCM_KERNEL)
#include <hip/hip_runtime.h>

// Starts on the caller's stream and does not wait.
hipError_t relu_rocm(float* out, const float* input, int64_t count, hipStream_t stream);
#else
void relu_cpu(float* out, const float* input, int64_t count);
#endif
