#include "scale.h"

void scale_floats(float* out, const float* x, float factor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = factor * x[i];
}
