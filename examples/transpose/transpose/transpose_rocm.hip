// Transpose, any AMD GPU: through a tile in LDS, so that reads and writes of memory are both contiguous.
// Work    one workgroup = one tile of 32 x 32; 32 x 8 lanes, four rows of the tile each.
//         Of a tall matrix it takes the tile 256 tiles further down next.
// Memory  32 x 33 floats of LDS. The column that nobody uses puts the elements of a column of the tile
//         into different banks: with 32 x 32 all of them would be in one.
// Limits  none: edges are masked, on the way in by the input's sizes and on the way out by the output's.
#include "transpose.h"

constexpr int kTile = 32, kRows = 8;
constexpr int64_t kMaxBlocks = 256;  // down; a workgroup goes on to other tiles when there are more

__global__ void __launch_bounds__(kTile * kRows)
    transpose_kernel(float* out, const float* input, int64_t rows, int64_t columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t left = static_cast<int64_t>(blockIdx.x) * kTile;
  const int64_t height = static_cast<int64_t>(gridDim.y) * kTile;
  for (int64_t top = static_cast<int64_t>(blockIdx.y) * kTile; top < rows; top += height) {
    for (int i = y; i < kTile; i += kRows) {
      if (top + i < rows && left + x < columns) tile[i][x] = input[(top + i) * columns + left + x];
    }
    __syncthreads();
    for (int i = y; i < kTile; i += kRows) {
      if (left + i < columns && top + x < rows) out[(left + i) * rows + top + x] = tile[x][i];
    }
    __syncthreads();  // the next tile goes where this one is still being read
  }
}

hipError_t transpose_rocm(float* out, const float* input, int64_t rows, int64_t columns, hipStream_t stream) {
  if (rows == 0 || columns == 0) return hipSuccess;  // a launch of no workgroups is an error
  const int64_t down = (rows + kTile - 1) / kTile;
  const dim3 grid(static_cast<unsigned>((columns + kTile - 1) / kTile),
                  static_cast<unsigned>(down < kMaxBlocks ? down : kMaxBlocks));
  transpose_kernel<<<grid, dim3(kTile, kRows), 0, stream>>>(out, input, rows, columns);
  return hipGetLastError();
}
