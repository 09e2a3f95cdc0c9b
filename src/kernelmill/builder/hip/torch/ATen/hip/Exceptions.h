// Stands in for a ROCm build's header of this name, where the torch that is built against is none.
#pragma once

#include <c10/hip/HIPException.h>

#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
