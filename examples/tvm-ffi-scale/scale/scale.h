#pragma once
#include <cstdint>

// out[i] = factor * x[i] for i < count. out may be x.
void scale_floats(float* out, const float* x, float factor, std::int64_t count);

// The same, started on `stream` of the device with that number. Returns CUDA's error, or 0.
int scale_cuda(float* out, const float* x, float factor, std::int64_t count, int device, void* stream);
