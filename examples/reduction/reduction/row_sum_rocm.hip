// Row sums, any AMD GPU: partial sums in registers, then a tree in LDS.
// Work    one workgroup = one row; lane t adds up the columns t, t + 256, t + 512, ...
// Memory  256 floats of LDS, one for each lane.
// Tree    in each step the lower half of the lanes adds what the upper half holds. The barrier of a
//         step ends the step before it: without it a lane reads a sum that is not finished.
#include "row_sum.h"

constexpr int kThreads = 256;
static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves the lanes until one is left");

__global__ void __launch_bounds__(kThreads)
    row_sum_kernel(float* out, const float* input, int64_t columns) {
  __shared__ float partial[kThreads];
  const int lane = threadIdx.x;
  const float* row = input + blockIdx.x * columns;
  float sum = 0;
  for (int64_t column = lane; column < columns; column += kThreads) sum += row[column];
  partial[lane] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) partial[lane] += partial[lane + half];
  }
  if (lane == 0) out[blockIdx.x] = partial[0];
}

hipError_t row_sum_rocm(float* out, const float* input, int64_t rows, int64_t columns, hipStream_t stream) {
  if (rows == 0) return hipSuccess;  // a launch of no workgroups is an error
  row_sum_kernel<<<dim3(static_cast<unsigned>(rows)), dim3(kThreads), 0, stream>>>(out, input, columns);
  return hipGetLastError();
}
