#include <metal_stdlib>

kernel void relu_kernel(device float* out [[buffer(0)]],
                        device const float* input [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
  // Written so that NaN stays NaN.
  out[i] = input[i] < 0.0f ? 0.0f : input[i];
}
