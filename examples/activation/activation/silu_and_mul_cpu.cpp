// The readable truth: one loop.
#include "silu_and_mul.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cmath>

template <typename T>
static void compute(void* out, const void* input, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    T* to = static_cast<T*>(out) + row * width;
    const T* gate = static_cast<const T*>(input) + row * 2 * width;
    for (int64_t i = 0; i < width; ++i) {
      const float x = static_cast<float>(gate[i]);
      const float silu = x / (1.0f + std::exp(-x));
      to[i] = static_cast<T>(silu * static_cast<float>(gate[width + i]));
    }
  }
}

void silu_and_mul_cpu(void* out, const void* input, Number number, int64_t rows, int64_t width) {
  switch (number) {
    case Number::float32: return compute<float>(out, input, rows, width);
    case Number::float16: return compute<c10::Half>(out, input, rows, width);
    case Number::bfloat16: return compute<c10::BFloat16>(out, input, rows, width);
  }
}
