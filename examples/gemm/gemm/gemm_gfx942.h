#pragma once

#include "contract.h"

namespace gemm {

constexpr Fp8 kGfx942Format = Fp8::kFnuz;  // the only one that gfx942's matrix instructions read

// Queues `problem` on `stream` (a hipStream_t) of the current device; returns at once. The result is 0, or
// the hipError_t of the launch. Every pointer must be memory of that device, and problem.format
// kGfx942Format; the binding has checked that.
int launch_gfx942(const Problem& problem, void* stream);

}  // namespace gemm
