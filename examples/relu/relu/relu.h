#pragma once
#include <cstdint>

// Forward:  out[i] = x[i] < 0 ? 0 : x[i].     Backward: grad_x[i] = out[i] <= 0 ? 0 : grad[i].
// All have `count` elements. The device's functions start on `stream`; they return 0, or HIP's error.
void relu_cpu(float* out, const float* x, std::int64_t count);
void relu_backward_cpu(float* grad_x, const float* grad, const float* out, std::int64_t count);
int relu_rocm(float* out, const float* x, std::int64_t count, void* stream);
int relu_backward_rocm(float* grad_x, const float* grad, const float* out, std::int64_t count,
                       void* stream);
