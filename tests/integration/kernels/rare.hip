// What libraries write with clang's builtins, and seldom.
#include <hip/hip_runtime.h>
#include <stdint.h>

typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef int int16v __attribute__((ext_vector_type(16)));
typedef _Float16 half2v __attribute__((ext_vector_type(2)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));
typedef __bf16 bfloat2v __attribute__((ext_vector_type(2)));
typedef short short2v __attribute__((ext_vector_type(2)));

#define RESOURCE __amdgpu_buffer_rsrc_t
__device__ RESOURCE resource(const void* base, int bytes) {
  return __builtin_amdgcn_make_buffer_rsrc((void*)base, 0, bytes, 0x00020000);
}

// Loads and stores that a descriptor bounds: beyond it they give 0 and write nothing.
extern "C" __global__ void bounded(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const RESOURCE from = resource(in, 4 * n), to = resource(out, 4 * n);
  const int bits = __builtin_amdgcn_raw_buffer_load_b32(from, 4 * i, 0, 0);
  const float value = __builtin_bit_cast(float, bits) + 1.0f;
  __builtin_amdgcn_raw_buffer_store_b32(__builtin_bit_cast(int, value), to, 4 * i, 0, 0);
}

// From memory to LDS, past the registers.
extern "C" __global__ void __launch_bounds__(64) past_registers(const int* in, int* out) {
  __shared__ int tile[64];
  __builtin_amdgcn_global_load_lds((const __attribute__((address_space(1))) void*)(in + 63 - threadIdx.x),
                                   (__attribute__((address_space(3))) void*)tile, 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 5];
}

// Words put together from bytes and bits.
extern "C" __global__ void bits(const unsigned* a, const unsigned* b, unsigned* out) {
  const int i = threadIdx.x;
  const unsigned x = a[i], y = b[i];
  unsigned* to = out + 12 * i;
  to[0] = __builtin_amdgcn_perm(x, y, 0x06010405u);
  to[1] = __builtin_amdgcn_alignbyte(x, y, 1);
  to[2] = __builtin_amdgcn_alignbit(x, y, 13);
  to[3] = __builtin_amdgcn_ubfe(x, 5, 11);
  to[4] = __builtin_amdgcn_sbfe(x, 3, 9);
  to[5] = __builtin_amdgcn_sad_u8(x, y, 7);
  to[6] = __builtin_amdgcn_msad_u8(x, y, 3);
  to[7] = __builtin_bitreverse32(x);
  to[8] = __builtin_amdgcn_lerp(x, y, 0x01010101u);
  to[9] = __builtin_amdgcn_cvt_pk_u8_f32((float)(x & 255), 2, y);
  to[10] = (unsigned)(((uint64_t)x * y) >> 32) + __builtin_rotateleft32(x, y & 31);
  to[11] = (x & 0xffffff) * (y & 0xffffff) + (unsigned)__builtin_clz(x | 1) + __builtin_ctz(y | 0x80000000u);
}

// Values from other lanes, every way there is.
extern "C" __global__ void __launch_bounds__(64) lanes(const int* in, int* out) {
  const int i = threadIdx.x, x = in[i];
  int* to = out + 10 * i;
  to[0] = __builtin_amdgcn_ds_swizzle(x, 0x041F);  // lane ^ 1 in each half
  to[1] = __builtin_amdgcn_ds_swizzle(x, 0x80B1);  // 1, 0, 3, 2 in each four
  to[2] = __builtin_amdgcn_mov_dpp(x, 0x141, 0xf, 0xf, true);  // half of a row, mirrored
  to[3] = __builtin_amdgcn_mov_dpp(x, 0x140, 0xf, 0xf, true);  // a row, mirrored
  to[4] = __builtin_amdgcn_mov_dpp(x, 0x121, 0xf, 0xf, true);  // a row, turned by one
  to[5] = __builtin_amdgcn_update_dpp(-1, x, 0x138, 0xf, 0xf, false);  // the whole wave, shifted up
  to[6] = __builtin_amdgcn_ds_permute(4 * ((i + 7) % 64), x);
  to[7] = __builtin_amdgcn_ds_bpermute(4 * ((i * 5) % 64), x);
  to[8] = __builtin_amdgcn_readfirstlane(x) + __builtin_amdgcn_readlane(x, 17);
  to[9] = __builtin_amdgcn_update_dpp(0, x, 0x1B, 0x5, 0x3, false);  // 3, 2, 1, 0; some rows and banks
}

// Matrix instructions of the other types.
extern "C" __global__ void __launch_bounds__(64) half_tile(const half4v* a, const half4v* b, float4v* out) {
  const float4v zero = {0, 0, 0, 0};
  out[threadIdx.x] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[threadIdx.x], b[threadIdx.x], zero, 0, 0, 0);
}
extern "C" __global__ void __launch_bounds__(64) byte_tile(const long* a, const long* b, int16v* out) {
  const int16v zero = {};
  out[threadIdx.x] = __builtin_amdgcn_mfma_i32_32x32x16_i8(a[threadIdx.x], b[threadIdx.x], zero, 0, 0, 0);
}
extern "C" __global__ void __launch_bounds__(64) float_tile(const float* a, const float* b, float16v* out) {
  const float16v zero = {};
  out[threadIdx.x] = __builtin_amdgcn_mfma_f32_32x32x2f32(a[threadIdx.x], b[threadIdx.x], zero, 0, 0, 0);
}
extern "C" __global__ void __launch_bounds__(64) small_tiles(const float* a, const float* b, float4v* out) {
  const float4v zero = {0, 0, 0, 0};  // 16 products of 4 x 1 by 1 x 4
  out[threadIdx.x] = __builtin_amdgcn_mfma_f32_4x4x1f32(a[threadIdx.x], b[threadIdx.x], zero, 0, 0, 0);
}

// Two halves or two bfloat16 added to memory at once; order of arrival in LDS.
extern "C" __global__ void __launch_bounds__(64) pairs(half2v* halves, bfloat2v* bfloats, float* wide) {
  typedef __attribute__((address_space(1))) half2v* Halves;
  typedef __attribute__((address_space(1))) short2v* Bfloats;
  const int i = threadIdx.x;
  __builtin_amdgcn_global_atomic_fadd_v2f16((Halves)(halves + i % 4), half2v{(_Float16)i, (_Float16)-1});
  __builtin_amdgcn_global_atomic_fadd_v2bf16((Bfloats)(bfloats + i % 2),
      __builtin_bit_cast(short2v, bfloat2v{(__bf16)1.0f, (__bf16)2.0f}));
  __hip_atomic_fetch_max((double*)wide, (double)i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// FP8 of both formats, rounded to nearest and by given noise.
extern "C" __global__ void rounding(const float* in, const int* noise, int* out) {
  const int i = threadIdx.x;
  int packed = __builtin_amdgcn_cvt_pk_fp8_f32(in[i], -in[i], 0, false);
  packed = __builtin_amdgcn_cvt_pk_bf8_f32(in[i], 2 * in[i], packed, true);
  out[2 * i] = packed;
  out[2 * i + 1] = __builtin_amdgcn_cvt_sr_fp8_f32(in[i], noise[i], 0, 1);
}

// Function pointers in memory, chosen by lane; a loop with breaks and continues.
__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ int negate(int x) { return -x; }
typedef int (*Function)(int);
__device__ Function const kFunctions[3] = {twice, square, negate};
extern "C" __global__ void pointers(const int* in, int* out, int most) {
  int x = in[threadIdx.x];
  for (int turn = 0;; ++turn) {
    if (turn == most) break;
    if ((x + turn) % 5 == 0) continue;
    x = kFunctions[(threadIdx.x + turn) % 3](x) % 1000;
    if (x == 1) break;
  }
  out[threadIdx.x] = x;
}

// The memory that a launch brings, and numbers of the device.
extern "C" __global__ void dynamic(int* out, int n) {
  extern __shared__ int words[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = i * i;
  __syncthreads();
  const int64_t before = __builtin_readcyclecounter();
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += words[(i + threadIdx.x) % n];
  const int64_t after = __builtin_readcyclecounter();
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum + (after < before ? 1000000 : 0);
}

// Halves with constants in one half only, and packed from constants.
extern "C" __global__ void constants(const half2v* in, half2v* out) {
  const half2v x = in[threadIdx.x];
  half2v* to = out + 8 * threadIdx.x;
  to[0] = x + half2v{1, 0};
  to[1] = x * half2v{2, -0.5};
  to[2] = x + half2v{0, 4};
  to[3] = __builtin_elementwise_fma(x, x, half2v{(_Float16)-4, 0});
  to[4] = half2v{x.x, (_Float16)-1};
  to[5] = half2v{(_Float16)0.5, x.y};
  to[6] = x * half2v{(_Float16)0.1, (_Float16)0.1};
  to[7] = half2v{(_Float16)(x.x * (_Float16)4), (_Float16)(x.y - (_Float16)2)};
}
extern "C" __global__ void short_constants(const short2v* in, short2v* out) {
  const short2v x = in[threadIdx.x];
  short2v* to = out + 6 * threadIdx.x;
  to[0] = x + short2v{1, 0};
  to[1] = x * short2v{-1, -1};
  to[2] = x - short2v{0, 64};
  to[3] = x << short2v{3, 3};
  to[4] = __builtin_elementwise_max(x, short2v{-7, -7});
  to[5] = x + short2v{0x3f80, 0x3f80};
}
