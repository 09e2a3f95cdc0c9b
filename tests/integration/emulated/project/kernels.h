#pragma once

#include <hip/hip_runtime.h>

// out[i] = a[i] + b[i]; returns hipGetLastError() after the launch.
extern "C" hipError_t launch_add(const float* a, const float* b, float* out, int count,
                                 hipStream_t stream);
// As launch_add, but does not look whether the launch failed.
extern "C" void launch_add_unchecked(const float* a, const float* b, float* out, int count);
// values[i] *= the device variable `factor`, which is set first.
extern "C" hipError_t launch_scale(float* values, int count, float factor);
// values[] reversed within each block of 64, through LDS of a size given at the launch.
extern "C" hipError_t launch_reverse(float* values, int count);
extern "C" hipError_t add_occupancy(int* blocks, int block_size);
