#include "relu.h"

void relu_cpu(float* out, const float* input, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    // Written so that NaN stays NaN.
    out[i] = input[i] < 0.0f ? 0.0f : input[i];
  }
}
