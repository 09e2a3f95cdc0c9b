// Adds to counts[b] how many bytes of `in` are b. The emulator's planted bugs start from this file.
//
// Work   workgroups of 256 threads share the bytes, one per thread and turn.
// LDS    the workgroup's own 256 counters, added to the global ones at the end; the last to end says so.
#include <hip/hip_runtime.h>
#include <stdint.h>

constexpr int kThreads = 256, kBins = 256;

extern "C" __global__ void __launch_bounds__(kThreads) histogram(const uint8_t* in, unsigned* counts,
                                                                 unsigned* ended, int n) {
  __shared__ unsigned own[kBins];
  const int t = threadIdx.x;
  own[t] = 0;
  __syncthreads();  // the counters are 0
  for (int i = blockIdx.x * kThreads + t; i < n; i += gridDim.x * kThreads) {
    atomicAdd(&own[in[i]], 1u);
  }
  __syncthreads();  // all bytes are counted
  const unsigned mine = own[t];
  if (mine != 0) atomicAdd(&counts[t], mine);
  if (t == 0) atomicAdd(ended, 1u);
}
