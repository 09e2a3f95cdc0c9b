// For sources that include it by name; hip_runtime.h has what there is.
#pragma once

#include <hip/hip_runtime.h>
