// c[m, n] = sum_k a[m, k] * b[k, n], float32, row-major, any AMD GPU.
// Work    one workgroup of 16 x 16 lanes = one tile of c; a lane adds up one element.
// Memory  a tile of a and one of b in LDS, 2 KiB; elements beyond the edge count as 0.
#pragma once

#include <hip/hip_runtime.h>

#include "tile.h"

__global__ void __launch_bounds__(kTile * kTile)
    gemm_kernel(float* c, const float* a, const float* b, int M, int N, int K) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int k = 0; k < K; k += kTile) {
    a_tile[y][x] = row < M && k + x < K ? a[static_cast<size_t>(row) * K + k + x] : 0;
    b_tile[y][x] = k + y < K && column < N ? b[static_cast<size_t>(k + y) * N + column] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();  // before the next step overwrites the tiles
  }
  if (row < M && column < N) c[static_cast<size_t>(row) * N + column] = sum;
}
