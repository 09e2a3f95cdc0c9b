// Transposes: out[column, row] = in[row, column]. The emulator's planted bugs start from this file.
//
// Work   one workgroup of 32 x 8 threads per 32 rows; it goes through their tiles of 32 x 32.
// LDS    one tile; a row takes 33 values, so that a column lies in 32 different banks.
#include <hip/hip_runtime.h>

constexpr int kTile = 32, kStripe = 8, kPitch = kTile + 1;

extern "C" __global__ void __launch_bounds__(kTile* kStripe) transpose(const float* in, float* out, int rows,
                                                                       int columns) {
  __shared__ float tile[kTile * kPitch];
  const int x = threadIdx.x, y = threadIdx.y, row0 = blockIdx.x * kTile;
  for (int column0 = 0; column0 < columns; column0 += kTile) {
    for (int r = y; r < kTile; r += kStripe) {
      const int row = row0 + r, column = column0 + x;
      if (row < rows && column < columns) tile[r * kPitch + x] = in[row * columns + column];
    }
    __syncthreads();  // the tile is there
    for (int c = y; c < kTile; c += kStripe) {
      const int row = row0 + x, column = column0 + c;
      if (row < rows && column < columns) out[column * rows + row] = tile[x * kPitch + c];
    }
    __syncthreads();  // the tile was read, the next one may come
  }
}
