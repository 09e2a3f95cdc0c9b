#pragma once
#include <cstdint>

// out[i] = max(x[i], 0) for i < count. The device's functions start on `stream` and return nonzero
// when they cannot.
void relu_cpu(float* out, const float* x, std::int64_t count);
int relu_cuda(float* out, const float* x, std::int64_t count, void* stream);
int relu_rocm(float* out, const float* x, std::int64_t count, void* stream);
