#pragma once
#include <cuda_bf16.h>
#define CHECK_CUDA(x) TORCH_CHECK((x) == cudaSuccess, cudaGetErrorString(x))
