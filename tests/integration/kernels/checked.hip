// Three kernels that share data between waves. The tests plant faults in them, by the text.
#include <hip/hip_runtime.h>

extern "C" __global__ void __launch_bounds__(256) reduce(const float* in, float* out, int n) {
  __shared__ float part[256];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  part[t] = i < n ? in[i] : 0.0f;
  __syncthreads();  // all parts are there
  for (int step = 128; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();  // this step is done
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void __launch_bounds__(256) transpose(const float* in, float* out, int rows,
                                                            int cols) {
  __shared__ float tile[32][33];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int r = 0; r < 32; r += 8) {
    if (x < cols && y + r < rows) tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * cols + x];
  }
  __syncthreads();
  const int tx = blockIdx.y * 32 + threadIdx.x, ty = blockIdx.x * 32 + threadIdx.y;
  for (int r = 0; r < 32; r += 8) {
    if (tx < rows && ty + r < cols) out[(ty + r) * rows + tx] = tile[threadIdx.x][threadIdx.y + r];
  }
}

// The mean of five points; cells outside count as 0.
extern "C" __global__ void __launch_bounds__(256) stencil(const float* in, float* out, int rows,
                                                          int cols) {
  __shared__ float cell[18][18];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
  for (int i = ty * 16 + tx; i < 18 * 18; i += 256) {
    const int cx = blockIdx.x * 16 + i % 18 - 1, cy = blockIdx.y * 16 + i / 18 - 1;
    const bool inside = cx >= 0 && cy >= 0 && cx < cols && cy < rows;
    cell[i / 18][i % 18] = inside ? in[cy * cols + cx] : 0.0f;
  }
  __syncthreads();
  if (x < cols && y < rows) {
    const float around =
        cell[ty][tx + 1] + cell[ty + 2][tx + 1] + cell[ty + 1][tx] + cell[ty + 1][tx + 2];
    out[y * cols + x] = (cell[ty + 1][tx + 1] + around) * 0.2f;
  }
}
