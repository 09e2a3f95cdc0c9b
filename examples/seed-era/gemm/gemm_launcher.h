#pragma once

#include <hip/hip_runtime.h>

hipError_t launch_gemm(float* c, const float* a, const float* b, int M, int N, int K,
                       hipStream_t stream);
