// Kernels of kinds that nothing else here has: whoever writes one expects it to run as well.
#include <hip/hip_runtime.h>
#include <stdint.h>

typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef uint8_t byte4v __attribute__((ext_vector_type(4)));
typedef double double4v __attribute__((ext_vector_type(4)));
typedef short short4v __attribute__((ext_vector_type(4)));
typedef _Float16 half2v __attribute__((ext_vector_type(2)));
typedef __bf16 bfloat4v __attribute__((ext_vector_type(4)));

// Counts in LDS first, 4 values at a time, then adds them to those of the other workgroups.
extern "C" __global__ void __launch_bounds__(256) lds_histogram(const byte4v* in, unsigned* counts, int n) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const byte4v four = in[i];
    atomicAdd(&mine[four.x], 1u);
    atomicAdd(&mine[four.y], 1u);
    atomicAdd(&mine[four.z], 1u);
    atomicAdd(&mine[four.w], 1u);
  }
  __syncthreads();
  if (mine[threadIdx.x] != 0) atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

// The largest of a wave by DPP, as AMD's own libraries do it: the last lane has it.
template <int kControl, int kRows>
__device__ float dpp(float value, float other) {
  return __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(
      __builtin_bit_cast(int, other), __builtin_bit_cast(int, value), kControl, kRows, 0xf, false));
}
__device__ float wave_max(float x) {
  const float least = -__builtin_inff();
  x = __builtin_fmaxf(x, dpp<0x111, 0xf>(x, least));  // row_shr:1
  x = __builtin_fmaxf(x, dpp<0x112, 0xf>(x, least));  // row_shr:2
  x = __builtin_fmaxf(x, dpp<0x114, 0xf>(x, least));  // row_shr:4
  x = __builtin_fmaxf(x, dpp<0x118, 0xf>(x, least));  // row_shr:8
  x = __builtin_fmaxf(x, dpp<0x142, 0xa>(x, least));  // row_bcast:15
  x = __builtin_fmaxf(x, dpp<0x143, 0xc>(x, least));  // row_bcast:31
  return __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, x), 63));
}
__device__ float wave_sum(float x) {
  for (int distance = 1; distance < 64; distance *= 2) x += __shfl_xor(x, distance);
  return x;
}
// One wave a row, any number of columns.
extern "C" __global__ void __launch_bounds__(256) softmax(const float* in, float* out, int rows, int cols) {
  const int lane = threadIdx.x % 64, row = blockIdx.x * 4 + threadIdx.x / 64;
  if (row >= rows) return;
  const float* from = in + (int64_t)row * cols;
  float most = -__builtin_inff(), sum = 0;
  for (int c = lane; c < cols; c += 64) most = __builtin_fmaxf(most, from[c]);
  most = wave_max(most);
  for (int c = lane; c < cols; c += 64) sum += __builtin_expf(from[c] - most);
  sum = wave_sum(sum);
  for (int c = lane; c < cols; c += 64) out[(int64_t)row * cols + c] = __builtin_expf(from[c] - most) / sum;
}

// Attention of 32 queries over n keys, 32 numbers each, in bfloat16; one wave, online softmax.
// A and B of the matrix instruction: row lane % 32, k = 4 * (lane / 32) + i; D: see `row_of`.
__device__ int row_of(int lane, int i) { return 8 * (i / 4) + 4 * (lane / 32) + i % 4; }
extern "C" __global__ void __launch_bounds__(64) attention(const __bf16* q, const __bf16* k, const __bf16* v,
                                                           float* out, int n, float scale) {
  __shared__ float scores[32][33];
  __shared__ float most[32], sum[32], shrink[32];
  const int lane = threadIdx.x, part = lane / 32, column = lane % 32;
  if (lane < 32) most[lane] = -__builtin_inff(), sum[lane] = 0;
  float16v total = {};
  for (int start = 0; start < n; start += 32) {
    float16v product = {};
    for (int step = 0; step < 4; ++step) {
      const int at = 8 * step + 4 * part;
      product = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(
          *(const short4v*)(q + column * 32 + at), *(const short4v*)(k + (start + column) * 32 + at), product, 0, 0, 0);
    }
    for (int i = 0; i < 16; ++i) scores[row_of(lane, i)][column] = product[i] * scale;
    __syncthreads();
    if (lane < 32) {
      float largest = most[lane];
      for (int c = 0; c < 32; ++c) largest = __builtin_fmaxf(largest, scores[lane][c]);
      shrink[lane] = __builtin_expf(most[lane] - largest);
      float added = 0;
      for (int c = 0; c < 32; ++c) added += scores[lane][c] = __builtin_expf(scores[lane][c] - largest);
      sum[lane] = sum[lane] * shrink[lane] + added;
      most[lane] = largest;
    }
    __syncthreads();
    for (int i = 0; i < 16; ++i) total[i] *= shrink[row_of(lane, i)];
    for (int step = 0; step < 4; ++step) {
      bfloat4v weights, values;
      for (int i = 0; i < 4; ++i) {
        const int key = 8 * step + 4 * part + i;
        weights[i] = (__bf16)scores[column][key];
        values[i] = v[(start + key) * 32 + column];
      }
      total = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(
          __builtin_bit_cast(short4v, weights), __builtin_bit_cast(short4v, values), total, 0, 0, 0);
    }
    __syncthreads();
  }
  for (int i = 0; i < 16; ++i) out[row_of(lane, i) * 32 + column] = total[i] / sum[row_of(lane, i)];
}

// Bytes times bytes, 4 products an instruction; saturated to bytes again.
extern "C" __global__ void __launch_bounds__(256) byte_products(const int* a, const int* b, int8_t* out, unsigned* wide,
                                                                int words, int shift) {
  const int row = blockIdx.x, t = threadIdx.x;
  __shared__ int parts[256];
  int sum = 0;
  unsigned plain = 0;
  for (int i = t; i < words; i += 256) {
    sum = __builtin_amdgcn_sdot4(a[row * words + i], b[i], sum, false);
    plain = __builtin_amdgcn_udot4(a[row * words + i], b[i], plain, false);
  }
  parts[t] = sum;
  atomicAdd(&wide[row], plain);
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) parts[t] += parts[t + half];
    __syncthreads();
  }
  if (t == 0) {
    const int scaled = (parts[0] + (1 << (shift - 1))) >> shift;
    out[row] = (int8_t)(scaled > 127 ? 127 : scaled < -128 ? -128 : scaled);
  }
}

// 16 x 16 of doubles by the matrix unit, K in steps of 4.
extern "C" __global__ void __launch_bounds__(64) double_product(const double* a, const double* b, double* out, int k) {
  const int lane = threadIdx.x, row = lane % 16, part = lane / 16;
  double4v sum = {};
  for (int start = 0; start < k; start += 4)
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[row * k + start + part], b[(start + part) * 16 + row], sum, 0, 0, 0);
  for (int i = 0; i < 4; ++i) out[(4 * i + part) * 16 + row] = sum[i];
}

// Compensated sum, Newton's square root, and what doubles are made of.
extern "C" __global__ void doubles(const double* in, double* out, int* exponents, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile double sum = 0, lost = 0;
  for (int j = 0; j <= i % 7; ++j) {
    const double y = in[(i + j) % n] - lost, t = sum + y;
    lost = (t - sum) - y;
    sum = t;
  }
  const double x = in[i] < 0 ? -in[i] : in[i];
  out[4 * i] = sum;
  out[4 * i + 1] = __builtin_floor(in[i]) + __builtin_rint(in[i]) * 1000;
  out[4 * i + 2] = __builtin_sqrt(x) / (1.0 + x);
  out[4 * i + 3] = __builtin_amdgcn_ldexp(__builtin_amdgcn_frexp_mant(in[i]), 3) + (double)(int64_t)(in[i] * 1e6);
  exponents[i] = __builtin_amdgcn_frexp_exp(in[i]) + (int)(unsigned)x + (int)in[i];
}

// An inclusive scan over any number of workgroups: each waits for the one before it.
extern "C" __global__ void __launch_bounds__(256) scan(const int* in, int64_t* out, int64_t* carry, unsigned* ready, int n) {
  __shared__ int64_t waves[4];
  __shared__ int64_t before;
  const int t = threadIdx.x, lane = t % 64, i = blockIdx.x * 256 + t;
  int64_t value = i < n ? in[i] : 0;
  for (int distance = 1; distance < 64; distance *= 2) {
    const unsigned low = __shfl_up((unsigned)value, distance), high = __shfl_up((unsigned)(value >> 32), distance);
    if (lane >= distance) value += (int64_t)((uint64_t)high << 32 | low);
  }
  if (lane == 63) waves[t / 64] = value;
  __syncthreads();
  for (int w = 0; w < t / 64; ++w) value += waves[w];
  if (t == 0) {
    before = 0;
    if (blockIdx.x > 0) {
      while (__hip_atomic_load(&ready[blockIdx.x - 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
        __builtin_amdgcn_s_sleep(1);
      }
      before = carry[blockIdx.x - 1];
    }
  }
  __syncthreads();
  if (i < n) out[i] = value + before;
  if (t == 255) {
    carry[blockIdx.x] = value + before;
    __hip_atomic_store(&ready[blockIdx.x], 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// Keeps what is positive, in order, by ballots.
extern "C" __global__ void __launch_bounds__(64) compact(const float* in, float* out, int* count, int n) {
  int kept = 0;
  for (int start = 0; start < n; start += 64) {
    const int i = start + threadIdx.x;
    const bool keep = i < n && in[i] > 0;
    const uint64_t all = __ballot(keep);
    const int mine = __builtin_amdgcn_mbcnt_hi(all >> 32, __builtin_amdgcn_mbcnt_lo((unsigned)all, 0));
    if (keep) out[kept + mine] = in[i];
    kept += __popcll(all);
  }
  if (threadIdx.x == 0) *count = kept;
}

// Sorts 512 keys of 64 bits, with the place that each came from.
extern "C" __global__ void __launch_bounds__(256) bitonic(uint64_t* keys, unsigned short* places) {
  __shared__ uint64_t key[512];
  __shared__ unsigned short place[512];
  for (int i = threadIdx.x; i < 512; i += 256) key[i] = keys[i], place[i] = i;
  for (int size = 2; size <= 512; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const int i = 2 * step * (threadIdx.x / step) + threadIdx.x % step, j = i + step;
      if ((key[i] > key[j]) == ((i & size) == 0)) {
        const uint64_t k = key[i];
        const unsigned short p = place[i];
        key[i] = key[j], place[i] = place[j];
        key[j] = k, place[j] = p;
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 512; i += 256) keys[i] = key[i], places[i] = place[i];
}

// Counts steps until a point leaves: every lane its own number of turns.
extern "C" __global__ void mandelbrot(int* out, int width, int height, int most) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float cr = 3.0f * x / width - 2.0f, ci = 2.0f * y / height - 1.0f;
  float r = 0, i = 0;
  int turns = 0;
  while (r * r + i * i < 4.0f && turns < most) {
    const float next = r * r - i * i + cr;
    i = 2 * r * i + ci;
    r = next;
    ++turns;
  }
  out[y * width + x] = turns;
}

// Random numbers of a counter: Philox 4x32 with 10 rounds.
extern "C" __global__ void philox(unsigned* out, unsigned key0, unsigned key1) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned c[4] = {i, 0, 0, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
    const unsigned next[4] = {(unsigned)(b >> 32) ^ c[1] ^ key0, (unsigned)b, (unsigned)(a >> 32) ^ c[3] ^ key1, (unsigned)a};
    for (int j = 0; j < 4; ++j) c[j] = next[j];
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
  for (int j = 0; j < 4; ++j) out[4 * i + j] = c[j];
}

// A small machine: a switch that compilers turn into a table of jumps.
extern "C" __global__ void interpret(const uint8_t* code, int* out, int length) {
  int a = threadIdx.x, b = 1;
  for (int pc = 0; pc < length; ++pc) {
    switch (code[pc] ^ (threadIdx.x & 1)) {
      case 0: a += b; break;
      case 1: a -= 3 * b; break;
      case 2: b = a ^ (b << 1); break;
      case 3: a = a * b + 7; break;
      case 4: b = a / (b | 1); break;
      case 5: a = b % ((a & 15) + 1); break;
      case 6: { const int c = a; a = b; b = c; break; }
      case 7: a = (a >> 3) | (b & 0xff); break;
      case 8: b = -b; break;
      default: a = ~a;
    }
  }
  out[threadIdx.x] = a ^ b;
}

// Recursion and structs by value.
struct Pair { int64_t first; float second; uint8_t third; };
__device__ __attribute__((noinline)) Pair fibonacci(int n) {
  if (n < 2) return {n, (float)n, (uint8_t)n};
  const Pair a = fibonacci(n - 1), b = fibonacci(n - 2);
  return {a.first + b.first, a.second + b.second, (uint8_t)(a.third + b.third)};
}
extern "C" __global__ void recursion(Pair offset, Pair* out) {
  const Pair found = fibonacci(threadIdx.x % 10);
  out[threadIdx.x] = {found.first + offset.first, found.second * offset.second, (uint8_t)(found.third ^ offset.third)};
}

// Half precision, two at a time.
extern "C" __global__ void halves(const half2v* a, const half2v* b, half2v* out, float* dots, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const half2v x = a[i], y = b[i];
  const half2v most = {x.x > y.x ? x.x : y.x, x.y > y.y ? x.y : y.y};
  out[2 * i] = x * y + most;
  out[2 * i + 1] = half2v{(_Float16)((float)x.y / (float)y.x), (_Float16)__builtin_sqrtf16(__builtin_fabsf16(x.x))};
  dots[i] = __builtin_amdgcn_fdot2(x, y, 0.5f, false);
}

// Elementary functions.
extern "C" __global__ void functions(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i], positive = __builtin_fabsf(x) + 0.01f;
  float* to = out + 12 * i;
  to[0] = __builtin_sinf(x);
  to[1] = __builtin_cosf(x);
  to[2] = __builtin_expf(x);
  to[3] = __builtin_logf(positive);
  to[4] = __builtin_log2f(positive);
  to[5] = __builtin_sqrtf(positive);
  to[6] = 1.0f / positive;
  to[7] = __builtin_truncf(x) + __builtin_ceilf(x) * 10;
  to[8] = __builtin_roundevenf(x);
  to[9] = __builtin_copysignf(positive, -x);
  to[10] = __builtin_amdgcn_fractf(x);
  to[11] = __builtin_amdgcn_fmed3f(x, -1.0f, 1.0f);
}

// Atomic operations that return, of every width.
extern "C" __global__ void exchanges(unsigned* words, uint64_t* wide, float* real, double* reals, int* signed_words) {
  const unsigned t = threadIdx.x;
  __hip_atomic_fetch_or(&words[0], 1u << (t % 32), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_and(&words[1], ~(1u << (t % 32)), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_xor(&words[2], t, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  atomicMax(&words[3], t * 7 % 64);
  atomicMin(&signed_words[0], (int)(t * 5 % 64) - 32);
  __hip_atomic_fetch_add(&wide[0], (uint64_t)t << 30, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(&wide[1], (uint64_t)t << 35, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(&real[0], 0.5f * t, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(&reals[0], 0.25 * t, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  float seen = real[1];  // a maximum by compare and swap
  while (seen < (float)t) {
    const unsigned was = atomicCAS((unsigned*)&real[1], __builtin_bit_cast(unsigned, seen), __builtin_bit_cast(unsigned, (float)t));
    if (was == __builtin_bit_cast(unsigned, seen)) break;
    seen = __builtin_bit_cast(float, was);
  }
  __shared__ double local;
  __shared__ float small;
  __shared__ uint64_t most;
  if (t == 0) local = 0, small = 0, most = 0;
  __syncthreads();
  __hip_atomic_fetch_add(&local, 1.5, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(&small, 2.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_max(&most, (uint64_t)t << 33, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  if (t == 0) reals[1] = local, real[2] = small, wide[2] = most;
}

// A convolution whose weights are a constant table, in a tile with a border, by 16-bit integers.
__constant__ short kWeights[3][3] = {{1, -2, 3}, {-4, 5, -6}, {7, -8, 9}};
extern "C" __global__ void __launch_bounds__(256) convolve(const int16_t* in, int* out, int width, int height) {
  __shared__ int16_t tile[18][18];
  const int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
    const int x = x0 + i % 18 - 1, y = y0 + i / 18 - 1;
    tile[i / 18][i % 18] = x >= 0 && y >= 0 && x < width && y < height ? in[y * width + x] : 0;
  }
  __syncthreads();
  int sum = 0;
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx) sum += tile[threadIdx.y + dy][threadIdx.x + dx] * kWeights[dy][dx];
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = sum;
}
