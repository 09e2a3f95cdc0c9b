// Sums rows of a matrix: out[row] = sum over i of in[row, i]. The emulator's planted bugs start from this file.
//
// Work   one workgroup of 256 threads per two rows, one after the other.
// LDS    one partial sum per thread, added up in a tree; reused for the second row.
#include <hip/hip_runtime.h>

constexpr int kThreads = 256, kRows = 2;

extern "C" __global__ void __launch_bounds__(kThreads) reduction(const float* in, float* out, int rows,
                                                                 int columns) {
  __shared__ float part[kThreads];
  const int t = threadIdx.x;
  for (int r = 0; r < kRows; ++r) {
    const int row = blockIdx.x * kRows + r;
    if (row >= rows) break;
    float sum = 0.0f;
    for (int i = t; i < columns; i += kThreads) sum += in[row * columns + i];
    part[t] = sum;
    __syncthreads();  // the partial sums are there
    for (int step = kThreads / 2; step > 0; step /= 2) {
      if (t < step) part[t] += part[t + step];
      __syncthreads();  // a level of the tree is done
    }
    if (t == 0) out[row] = part[0];
    __syncthreads();  // part[0] was read, the next row may write
  }
}
