// Running sums of rows: out[row, i] = in[row, 0] + ... + in[row, i]. The emulator's planted bugs start from this file.
//
// Work   one workgroup of 256 threads per row of at most 256.
// LDS    two buffers that take turns: one barrier per step.
#include <hip/hip_runtime.h>

constexpr int kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads) scan(const int* in, int* out, int columns) {
  __shared__ int sums[2][kThreads];
  const int t = threadIdx.x;
  int* from = sums[0];
  int* to = sums[1];
  from[t] = t < columns ? in[blockIdx.x * columns + t] : 0;
  __syncthreads();  // the values are there
  for (int distance = 1; distance < kThreads; distance *= 2) {
    to[t] = t >= distance ? from[t] + from[t - distance] : from[t];
    __syncthreads();  // a step is done
    int* const other = from;
    from = to;
    to = other;
  }
  if (t < columns) out[blockIdx.x * columns + t] = from[t];
}
