// c = a * b of 16 x 64 and 64 x 16 float16, summed in float32, in inline assembly: the compiler adds neither waits
// nor wait states here. The emulator's planted bugs start from this file.
//
// Work      one workgroup = one product; 4 waves, each 16 of k; wave 0 adds up what the others leave in LDS.
// Fragment  v_mfma_f32_16x16x16_f16, lane l of 64, value j of 4, accumulator v of 4:
//             A: row l % 16, k = 4 * (l / 16) + j      B: column l % 16, the same k
//             D: row 4 * (l / 16) + v, column l % 16   (AMD matrix instruction calculator, cdna3)
#include <hip/hip_runtime.h>
#include <stdint.h>

constexpr int kWave = 64, kWaves = 4, kSize = 16, kDepth = 16;

typedef float Float4 __attribute__((vector_size(16)));
typedef uint32_t Word2 __attribute__((vector_size(8)));

__device__ uint32_t lds_address(Float4* place) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>((__attribute__((address_space(3))) Float4*)place));
}

// a: [16][64], b: [16][64] (its columns), float16; c: [16][16] float32.
extern "C" __global__ void __launch_bounds__(kWave* kWaves) matrix(const uint16_t* a, const uint16_t* b,
                                                                   float* c) {
  __shared__ Float4 left[kWaves][kWave];
  const int lane = threadIdx.x % kWave, wave = threadIdx.x / kWave;
  const int k = wave * kDepth + 4 * (lane / kSize);
  const uint16_t* const row = a + blockIdx.x * kSize * kDepth * kWaves + lane % kSize * kDepth * kWaves + k;
  const uint16_t* const column = b + blockIdx.x * kSize * kDepth * kWaves + lane % kSize * kDepth * kWaves + k;
  Word2 x, y;
  Float4 sum = {};
  asm volatile(
      "global_load_dwordx2 %0, %3, off\n"
      "global_load_dwordx2 %1, %4, off\n"
      "s_waitcnt vmcnt(0)\n"
      "v_mfma_f32_16x16x16_f16 %2, %0, %1, %2\n"
      "s_nop 6\n"
      "ds_write_b128 %5, %2\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_barrier\n"
      : "=&v"(x), "=&v"(y), "+v"(sum)
      : "v"(row), "v"(column), "v"(lds_address(&left[wave][lane]))
      : "memory");
  if (wave != 0) return;
  Float4 total = sum;
  for (int other = 1; other < kWaves; ++other) {
    Float4 term;
    asm volatile(
        "ds_read_b128 %0, %1\n"
        "s_waitcnt lgkmcnt(0)\n"
        : "=v"(term)
        : "v"(lds_address(&left[other][lane]))
        : "memory");
    total += term;
  }
  float* const to = c + blockIdx.x * kSize * kSize;
  for (int v = 0; v < 4; ++v) to[(4 * (lane / kSize) + v) * kSize + lane % kSize] = total[v];
}
