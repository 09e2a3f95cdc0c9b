// What kernelmill's HIP headers compute, one function each; the tests compare with NumPy's.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

extern "C" __global__ void math(float* out, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  const float values[] = {expm1f(v), log1pf(v), tanhf(v),  coshf(v),  sinhf(v), erff(v),
                          sinf(v),   cosf(v),   exp10f(v), roundf(v), fabs(v),  max(v, 0.5f)};
  for (int k = 0; k < 12; ++k) out[k * n + i] = values[k];
}

extern "C" __global__ void powers(float* out, const float* x, const float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = powf(x[i], y[i]);
}

extern "C" __global__ void remainders(float* out, const float* x, const float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmodf(x[i], y[i]);
}

// Every float16 and bfloat16 there and back; and rounding of floats.
extern "C" __global__ void sixteen_bits(unsigned short* half_back, unsigned short* bf16_back,
                                        float* half_value, float* bf16_value) {
  const unsigned short bits = static_cast<unsigned short>(blockIdx.x * blockDim.x + threadIdx.x);
  half_value[bits] = __half2float(__ushort_as_half(bits));
  bf16_value[bits] = __bfloat162float(__ushort_as_bfloat16(bits));
  half_back[bits] = __half_as_ushort(__float2half(half_value[bits]));
  bf16_back[bits] = __bfloat16_as_ushort(__float2bfloat16(bf16_value[bits]));
}

extern "C" __global__ void rounding(unsigned short* to_half, unsigned short* to_bf16,
                                    const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  to_half[i] = __half_as_ushort(__float2half_rn(x[i]));
  to_bf16[i] = __bfloat16_as_ushort(__float2bfloat16_rn(x[i]));
}

extern "C" __global__ void half_arithmetic(__half* out, const __half* a, const __half* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half2 pair = __hfma2(__half2half2(a[i]), __halves2half2(b[i], a[i]), __float2half2_rn(1.0f));
  const __half values[] = {a[i] + b[i], __hsub(a[i], b[i]), __hmul(a[i], b[i]), a[i] / b[i],
                           __hmax(a[i], b[i]), -a[i], __habs(a[i]), pair.x, __high2half(pair)};
  for (int k = 0; k < 9; ++k) out[k * n + i] = values[k];
}

extern "C" __global__ void atomics(unsigned* out, int* difference) {
  const unsigned lane = threadIdx.x;
  atomicAdd(&out[0], 1);
  atomicOr(&out[1], 1u << (lane & 31));
  atomicAnd(&out[2], ~(1u << (lane & 15)));
  atomicXor(&out[3], lane);
  atomicSub(&difference[0], 2);
  atomicMax(&out[4], lane);
  atomicMin(&out[5], lane);
  atomicInc(&out[6], 9);
  atomicDec(&out[7], 9);
  atomicAdd_block(&out[8], lane);
  if (lane == 0) {
    out[9] = atomicExch(&out[10], 7u);
    out[11] = atomicCAS(&out[12], 5u, 6u);
  }
}

extern "C" __global__ void lanes(int* out) {
  const int lane = static_cast<int>(__lane_id());
  const unsigned long long all = ~0ull;
  int values[] = {__shfl_sync(all, lane, 5), __shfl_up_sync(all, lane, 3),
                  __shfl_down_sync(all, lane, 3), __shfl_xor_sync(all, lane, 7, 32),
                  __any_sync(all, lane == 63), __all_sync(all, lane < 64),
                  static_cast<int>(__ballot_sync(all, lane & 1) >> 32)};
  __syncwarp(all);
  for (int k = 0; k < 7; ++k) out[k * 64 + lane] = values[k];
  const uchar4 small = __shfl_xor(make_uchar4(lane, 1, 2, 3), 1);
  out[7 * 64 + lane] = small.x + small.w * 1000;
}

extern "C" __global__ void integers(int* out, int x, unsigned y) {
  const int values[] = {__clzll(y), __ffsll(8), static_cast<int>(__brev(1u << 30)), __mulhi(x, x),
                        static_cast<int>(__umulhi(y, y)),
                        static_cast<int>(__byte_perm(0x33221100u, 0x77665544u, 0x7410u)),
                        __float2int_rn(2.5f), __float2int_rd(-2.5f), abs(x), min(x, 3),
                        __ldg(&out[0]), static_cast<int>(sizeof(uchar4) + alignof(double2))};
  for (int k = 0; k < 12; ++k) out[k] = values[k];
}

// 36 bytes of arguments, the last 12 of which are read by one load of 16.
extern "C" __global__ void __launch_bounds__(64)
    short_segment(int* out, const int* a, const int* b, int x, int y, int z) {
  __shared__ int shared[64];
  shared[threadIdx.x] = a[threadIdx.x] * x + b[threadIdx.x] * y + z;
  __syncthreads();
  out[threadIdx.x] = shared[63 - threadIdx.x];
}
