extern "C" __global__ void __launch_bounds__(64) axpy(float a, const float* x, float* y, int n) {
  __shared__ float tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) y[i] = a * tile[63 - threadIdx.x];
}
