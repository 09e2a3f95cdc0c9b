// A five-point stencil; outside of the field everything is 0. The emulator's planted bugs start from this file.
//   out[y, x] = in[y, x] / 2 + (in[y, x - 1] + in[y, x + 1] + in[y - 1, x] + in[y + 1, x]) / 8
//
// Work   one workgroup of 32 x 8 threads per tile of 32 x 8 results.
// LDS    the tile with a halo of 1 on each side: 34 x 10 values. The corners are never used.
#include <hip/hip_runtime.h>

constexpr int kWidth = 32, kHeight = 8, kHalo = 1;
constexpr int kPitch = kWidth + 2 * kHalo, kLines = kHeight + 2 * kHalo;

__device__ float fetch(const float* in, int x, int y, int width, int height) {
  if (x < 0) return 0.0f;
  if (y < 0) return 0.0f;
  if (x >= width) return 0.0f;
  if (y >= height) return 0.0f;
  return in[y * width + x];
}

extern "C" __global__ void __launch_bounds__(kWidth* kHeight) stencil(const float* in, float* out, int width,
                                                                      int height) {
  __shared__ float field[kLines * kPitch];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x = blockIdx.x * kWidth + tx, y = blockIdx.y * kHeight + ty;
  float* const at = field + (ty + kHalo) * kPitch + tx + kHalo;
  at[0] = fetch(in, x, y, width, height);
  if (tx == 0) at[-1] = fetch(in, x - 1, y, width, height);
  if (tx == kWidth - 1) at[1] = fetch(in, x + 1, y, width, height);
  if (ty == 0) at[-kPitch] = fetch(in, x, y - 1, width, height);
  if (ty == kHeight - 1) at[kPitch] = fetch(in, x, y + 1, width, height);
  __syncthreads();  // tile and halo are there
  if (x >= width) return;
  if (y >= height) return;
  out[y * width + x] = 0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-kPitch] + at[kPitch]);
}
