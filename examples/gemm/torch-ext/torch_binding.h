#pragma once

#include <ATen/core/Tensor.h>

// out[m, n] = sum over k of a[k, m] * a_scale[k / 128, m] * b[k, n] * b_scale[k / 128, n / 128]; see
// gemm/contract.h. Raises ValueError (shape, strides, device) or TypeError (type) that names the argument.
void gemm_out(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, const at::Tensor& a_scale,
              const at::Tensor& b_scale);
