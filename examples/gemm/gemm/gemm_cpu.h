#pragma once

#include "contract.h"

namespace gemm {

// Computes `problem` on the threads of torch's intra-op pool. Every pointer must be readable (out: writable)
// for the shape and strides given; the binding has checked that.
void launch_cpu(const Problem& problem);

}  // namespace gemm
