#pragma once
#include <cstdint>

// out[i] = factor * x[i] for i < count. out may be x.
void scale_floats(float* out, const float* x, float factor, std::int64_t count);
