"""What torch's tables lack: a few names that we add, and how the rest of CUDA looks."""

from __future__ import annotations

import re
from typing import Final

ADDED: Final = {
    "nv_bfloat16": "__hip_bfloat16",
    "nv_bfloat162": "__hip_bfloat162",
    "cuda_bf16.hpp": "hip/hip_bf16.h",
    "cuda_fp16.hpp": "hip/hip_fp16.h",
    "cuda_fp8.h": "hip/hip_fp8.h",
    "cuda_fp8.hpp": "hip/hip_fp8.h",
    # NOTE: CUDA's formats are OCP's; the ones called fnuz, gfx942's own, have other values.
    "__nv_fp8_e4m3": "__hip_fp8_e4m3",
    "__nv_fp8_e5m2": "__hip_fp8_e5m2",
    "__nv_fp8_storage_t": "__hip_fp8_storage_t",
}
"""Names and headers that ``torch.utils.hipify`` 2.0 leaves as they are.

https://rocm.docs.amd.com/projects/HIP/en/latest/reference/low_fp_types.html
"""

DEFINED: Final = ("USE_ROCM", "ROCM_KERNEL", "__HIP_PLATFORM_AMD__")
"""Macros that every source of a ROCm build sees."""
DEFINED_FOR_DEVICE: Final = ("__HIP__", "__HIPCC__", "__clang__")
"""Macros that sources for the device compiler see as well."""
UNDEFINED: Final = (
    *("__CUDA_ARCH__", "__CUDACC__", "__NVCC__", "CUDA_VERSION", "CUDART_VERSION"),
    *(
        "CUDA_KERNEL",
        "CPU_KERNEL",
        "METAL_KERNEL",
        "XPU_KERNEL",
        "USE_CUDA",
        "__HIP_PLATFORM_NVIDIA__",
    ),
)
"""Macros that no source of a ROCm build sees."""

FOREIGN_HEADER: Final = re.compile(
    r"cuda[\w.]*\.(?:h|hpp|cuh)|(?:cuda|cub|cutlass|cute|nvtx3|crt|nvshmem\w*)/.+|mma\.h|"
    r"(?:cu(?:blas|dnn|sparse|rand|solver|fft|pti)|nv|cooperative_groups)\w*(?:\.h|/.+)"
)
"""Headers of NVIDIA's, as they look where nothing was put in their place."""
FOREIGN_NAME: Final = re.compile(
    r"cuda[A-Z]\w*|__nv_\w+|nv_(?:bfloat16|half|fp8)\w*|nvcuda|CUtensorMap\w*|"
    r"cu(?:Tensor|Mem|Launch|Ctx|Module|Device|Stream|Event|Func|Graph|Link|Array)[A-Z]\w*|"
    r"(?:cublas|cudnn|cusparse|curand|cusolver|cufft)[A-Z]\w*"
)
"""Names of NVIDIA's. Unless a source defines such a name itself, nobody does."""
