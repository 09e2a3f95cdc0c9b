#include "relu.h"

void relu_xpu(float* out, const float* input, int64_t count, sycl::queue& queue) {
  if (count == 0) return;
  queue.parallel_for(sycl::range<1>(static_cast<size_t>(count)), [=](sycl::id<1> i) {
    // Written so that NaN stays NaN.
    out[i] = input[i] < 0.0f ? 0.0f : input[i];
  });
}
