// Transposes tiles of 64 x 64 without padding: word (row, column) of a tile lies at column ^ (row % 32) of its
// row, so that a column lies in different banks. The emulator's planted bugs start from this file.
//
// Work   one workgroup of 256 threads per tile; rows and columns are multiples of 64.
// LDS    dynamic: the host asks for 64 * 64 words.
#include <hip/hip_runtime.h>

constexpr int kTile = 64, kThreads = 256, kAtOnce = kThreads / kTile;

__device__ int place(int row, int column) { return row * kTile + (column ^ (row % 32)); }

extern "C" __global__ void __launch_bounds__(kThreads) swizzle(const unsigned* in, unsigned* out, int rows,
                                                               int columns) {
  extern __shared__ unsigned tile[];
  const int lane = threadIdx.x % kTile, wave = threadIdx.x / kTile;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  for (int r = wave; r < kTile; r += kAtOnce) {
    tile[place(r, lane)] = in[(row0 + r) * columns + column0 + lane];
  }
  __syncthreads();  // the tile is there
  for (int c = wave; c < kTile; c += kAtOnce) {
    out[(column0 + c) * rows + row0 + lane] = tile[place(lane, c)];
  }
}
