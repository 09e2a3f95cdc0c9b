// Stands in for a ROCm build's header of this name, where the torch that is built against is none: the
// device's properties. Not covered: handles of hipBLAS, hipSPARSE and hipSOLVER.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/hip/HIPFunctions.h>
#include <hip/hip_runtime.h>

// NOTE: torch's ROCm builds keep the names of CUDA's since 2.9, which this header is for.
namespace at::cuda {
inline int64_t getNumGPUs() { return c10::cuda::device_count(); }
inline bool is_available() { return c10::cuda::device_count() > 0; }
TORCH_API hipDeviceProp_t* getCurrentDeviceProperties();
TORCH_API hipDeviceProp_t* getDeviceProperties(c10::DeviceIndex device);
TORCH_API int warp_size();
TORCH_API c10::Allocator* getCUDADeviceAllocator();
}  // namespace at::cuda
