#include <torch/library.h>
#include "registration.h"
#include "scale.h"
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("scale(Tensor(a!) t, float by) -> ()");
  ops.impl("scale", torch::kCUDA, &scale);
}
REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
