// Small kernels, one feature each, that the emulator's tests launch.
#include <hip/hip_runtime.h>
#include <stdint.h>

// Guarded elementwise work, with blockDim and gridDim read from the hidden arguments.
extern "C" __global__ void add(const float* a, const float* b, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[i] = a[i] + b[i];
  }
}

// A sum per workgroup: LDS, barriers, and a loop that leaves lanes and then waves behind.
extern "C" __global__ void __launch_bounds__(256) reduce(const float* in, float* out, int n) {
  __shared__ float part[256];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  part[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

// A sum over a wave by moving values between lanes.
extern "C" __global__ void __launch_bounds__(64) reduce_wave(const float* in, float* out) {
  float value = in[blockIdx.x * 64 + threadIdx.x];
  for (int distance = 32; distance > 0; distance /= 2) value += __shfl_xor(value, distance);
  if (threadIdx.x == 0) out[blockIdx.x] = value;
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

// Five points, in double precision.
extern "C" __global__ void stencil(const double* in, double* out, int rows, int cols) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= cols - 1 || y >= rows - 1) return;
  const double* at = in + y * cols + x;
  out[y * cols + x] = 0.5 * at[0] + 0.125 * (at[-1] + at[1] + at[-cols] + at[cols]);
}

extern "C" __global__ void histogram(const uint8_t* in, unsigned* counts, int n, unsigned* order) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&counts[in[i]], 1u);
    order[i] = atomicAdd(&counts[256], 1u);
  }
}

extern "C" __global__ void float_atomics(float* sum, double* wide, int* extremes, unsigned* swap) {
  atomicAdd(sum, 0.5f);
  atomicAdd(wide, 0.25);
  atomicMax(&extremes[0], static_cast<int>(threadIdx.x));
  atomicMin(&extremes[1], -static_cast<int>(threadIdx.x));
  atomicCAS(swap, 0u, threadIdx.x + 1u);
}

// Divisions and square roots expand to the div_scale, div_fmas and div_fixup sequence.
extern "C" __global__ void quotients(const float* a, const float* b, float* out, const double* c,
                                     const double* d, double* wide, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[3 * i] = a[i] / b[i];
  out[3 * i + 1] = sqrtf(a[i]);
  out[3 * i + 2] = floorf(a[i]) + fminf(a[i], b[i]);
  wide[2 * i] = c[i] / d[i];
  wide[2 * i + 1] = __builtin_sqrt(c[i]);
}

extern "C" __global__ void integers(const int64_t* a, const int64_t* b, int64_t* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int64_t x = a[i], y = b[i];
  int64_t* to = out + 8 * i;
  to[0] = x / y;
  to[1] = x % y;
  to[2] = x * y;
  to[3] = static_cast<int64_t>(static_cast<uint64_t>(x) / static_cast<uint64_t>(y));
  to[4] = x << (y & 63);
  to[5] = static_cast<int32_t>(x) / static_cast<int32_t>(y | 1);
  to[6] = __popcll(x) + __clz(static_cast<int>(y));
  to[7] = x < y ? -x : y;
}

// A run-time index into an array that lives in scratch memory.
extern "C" __global__ void scratch(const int* index, int* out) {
  int held[16];
  for (int i = 0; i < 16; ++i) held[i] = i * i + threadIdx.x;
  volatile int* slots = held;
  slots[index[threadIdx.x] & 15] += 1000;
  int sum = 0;
  for (int i = 0; i < 16; ++i) sum += slots[i];
  out[threadIdx.x] = sum + slots[index[threadIdx.x] & 15];
}

typedef float Float4 __attribute__((vector_size(16)));
typedef float Float16 __attribute__((vector_size(64)));

extern "C" __global__ void __launch_bounds__(64) mfma_16x16x32(const int64_t* a, const int64_t* b,
                                                               float* out) {
  const int lane = threadIdx.x;
  Float4 sum = {};
  sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a[lane], b[lane], sum, 0, 0, 0);
  for (int v = 0; v < 4; ++v) out[(4 * (lane / 16) + v) * 16 + lane % 16] = sum[v];
}

extern "C" __global__ void __launch_bounds__(64) mfma_32x32x16(const int64_t* a, const int64_t* b,
                                                               float* out) {
  const int lane = threadIdx.x;
  Float16 sum = {};
  sum = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(a[lane], b[lane], sum, 0, 0, 0);
  for (int v = 0; v < 16; ++v) {
    out[(8 * (v / 4) + 4 * (lane / 32) + v % 4) * 32 + lane % 32] = sum[v];
  }
}

// All codes to float32, and float32 to codes.
extern "C" __global__ void fp8(const int* codes, float* values, const float* in, int* out) {
  const int i = threadIdx.x, word = codes[i];
  values[4 * i] = __builtin_amdgcn_cvt_f32_fp8(word, 0);
  values[4 * i + 1] = __builtin_amdgcn_cvt_f32_fp8(word, 1);
  values[4 * i + 2] = __builtin_amdgcn_cvt_f32_fp8(word, 2);
  values[4 * i + 3] = __builtin_amdgcn_cvt_f32_bf8(word, 3);
  int packed = __builtin_amdgcn_cvt_pk_fp8_f32(in[4 * i], in[4 * i + 1], 0, false);
  out[i] = __builtin_amdgcn_cvt_pk_bf8_f32(in[4 * i + 2], in[4 * i + 3], packed, true);
}

__device__ int device_table[4] = {3, 1, 4, 1};
__constant__ float constant_scale = 2.5f;

__device__ __attribute__((noinline)) float twice(float x) { return 2 * x; }
__device__ __attribute__((noinline)) float square(float x) { return x * x; }

// Globals, a call, and a call through a pointer that differs between lanes.
extern "C" __global__ void calls(const float* in, float* out) {
  const int i = threadIdx.x;
  float (*function)(float) = i % 3 ? twice : square;
  out[i] = function(in[i]) * constant_scale + device_table[i & 3];
  if (i == 0) device_table[0] += 1;
}

// Dynamic LDS through a generic (flat) pointer.
extern "C" __global__ void flat_lds(int* out) {
  extern __shared__ int shared[];
  int* volatile pointer = threadIdx.x & 1 ? &shared[threadIdx.x] : &out[64 + threadIdx.x];
  *pointer = threadIdx.x * 7;
  __syncthreads();
  out[threadIdx.x] = *pointer;
}

// Waves wait for each other through global memory.
extern "C" __global__ void __launch_bounds__(128) spin(unsigned* flag, unsigned* out) {
  if (threadIdx.x / 64 == 0) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
    }
    out[threadIdx.x] = *flag;
  } else {
    for (int i = 0; i < 100; ++i) out[threadIdx.x] = i;
    __hip_atomic_store(flag, 42u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// Halves a positive number that may be denormal: what comes out depends on the float mode.
extern "C" __global__ void denormals(const float* in, float* out) {
  const float value = in[threadIdx.x];
  out[threadIdx.x] = value > 0.0f ? value * 0.5f : -1.0f;
}
