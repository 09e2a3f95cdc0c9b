// The part of the HIP runtime API that PyTorch kernels use, declared for cross-compilation without
// a ROCm SDK. Names, values and signatures are those of AMD's HIP (6.x and 7.x share them):
// https://rocm.docs.amd.com/projects/HIP/en/latest/. Nothing is defined here: the functions are
// those of libamdhip64.so on the machine that runs the kernel.
//
// Covered: errors, memory, streams, events, devices and their properties, launches, occupancy, symbols,
// whether a stream is captured. Not covered: textures, graphs, modules, memory pools, peers.
#pragma once

#include <stddef.h>

// The build says for which ROCm it compiles.
#if !defined(HIP_VERSION_MAJOR)
#define HIP_VERSION_MAJOR 7
#define HIP_VERSION_MINOR 0
#endif
#define HIP_VERSION_PATCH 0
#define HIP_VERSION (HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000)
#define KERNELMILL_HIP_CROSS 1

enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorNotInitialized = 3,
  hipErrorDeinitialized = 4,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidSymbol = 13,
  hipErrorInvalidDevicePointer = 17,
  hipErrorInvalidMemcpyDirection = 21,
  hipErrorInsufficientDriver = 35,
  hipErrorMissingConfiguration = 52,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidImage = 200,
  hipErrorInvalidContext = 201,
  hipErrorNoBinaryForGpu = 209,
  hipErrorInvalidHandle = 400,
  hipErrorNotFound = 500,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchOutOfResources = 701,
  hipErrorLaunchTimeOut = 702,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
  hipErrorStreamCaptureUnsupported = 900,
  hipErrorStreamCaptureInvalidated = 901,
  hipErrorUnknown = 999,
};

enum hipMemcpyKind {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
};

enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8,
  hipFuncAttributePreferredSharedMemoryCarveout = 9,
};

enum hipDeviceAttribute_t {
  hipDeviceAttributeClockRate = 5,
  hipDeviceAttributeL2CacheSize = 19,
  hipDeviceAttributeComputeCapabilityMajor = 23,
  hipDeviceAttributeMaxBlocksPerMultiProcessor = 25,
  hipDeviceAttributeMaxBlockDimX = 26,
  hipDeviceAttributeMaxGridDimX = 29,
  hipDeviceAttributeMaxGridDimY = 30,
  hipDeviceAttributeMaxGridDimZ = 31,
  hipDeviceAttributeMaxThreadsPerBlock = 56,
  hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
  hipDeviceAttributeComputeCapabilityMinor = 61,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributeMaxRegistersPerBlock = 71,
  hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
  hipDeviceAttributeWarpSize = 87,
};

typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef void (*hipHostFn_t)(void* context);

#define hipStreamDefault 0x0
#define hipStreamNonBlocking 0x1
#define hipEventDefault 0x0
#define hipEventDisableTiming 0x2
#define hipEventInterprocess 0x4
#define hipEventRecordDefault 0x0
#define hipEventRecordExternal 0x1
#define hipEventWaitDefault 0x0
#define hipEventWaitExternal 0x1
#define hipHostMallocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostMallocMapped 0x2

enum hipStreamCaptureStatus {
  hipStreamCaptureStatusNone = 0,
  hipStreamCaptureStatusActive = 1,
  hipStreamCaptureStatusInvalidated = 2,
};
enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal = 0,
  hipStreamCaptureModeThreadLocal = 1,
  hipStreamCaptureModeRelaxed = 2,
};
typedef struct {
  char reserved[64];
} hipIpcEventHandle_t;

// That of HIP 6 and 7, called hipDeviceProp_tR0600 there. Fields about textures are left unnamed.
typedef struct hipDeviceProp_tR0600 {
  char name[256];
  char reserved0[32];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  size_t totalConstMem;
  int major;
  int minor;
  char reserved1[20];
  int multiProcessorCount;
  char reserved2[8];
  int canMapHostMemory;
  char reserved3[204];
  int memoryClockRate;
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  char reserved4[12];
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  char reserved5[44];
  size_t sharedMemPerBlockOptin;
  char reserved6[456];
  char gcnArchName[256];
  char reserved7[56];
} hipDeviceProp_tR0600;
#define hipDeviceProp_t hipDeviceProp_tR0600
#define hipGetDeviceProperties hipGetDevicePropertiesR0600

struct dim3 {
  unsigned x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
#endif
};
#ifndef __cplusplus
typedef struct dim3 dim3;
typedef enum hipError_t hipError_t;
typedef enum hipMemcpyKind hipMemcpyKind;
typedef enum hipFuncAttribute hipFuncAttribute;
typedef enum hipDeviceAttribute_t hipDeviceAttribute_t;
typedef enum hipStreamCaptureStatus hipStreamCaptureStatus;
typedef enum hipStreamCaptureMode hipStreamCaptureMode;
#endif
#ifdef __cplusplus
#define KERNELMILL_DEFAULT(value) = value
extern "C" {
#else
#define KERNELMILL_DEFAULT(value)
#endif

// Errors
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char* hipGetErrorName(hipError_t error);
const char* hipGetErrorString(hipError_t error);

// Devices
hipError_t hipGetDevice(int* device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device);
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest);
hipError_t hipDeviceSynchronize(void);
hipError_t hipRuntimeGetVersion(int* version);
hipError_t hipDriverGetVersion(int* version);

// Memory
hipError_t hipMalloc(void** pointer, size_t size);
hipError_t hipFree(void* pointer);
hipError_t hipHostMalloc(void** pointer, size_t size, unsigned flags);
hipError_t hipHostFree(void* pointer);
hipError_t hipMallocAsync(void** pointer, size_t size, hipStream_t stream);
hipError_t hipFreeAsync(void* pointer, hipStream_t stream);
hipError_t hipMemcpy(void* to, const void* from, size_t size, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, hipMemcpyKind kind,
                          hipStream_t stream KERNELMILL_DEFAULT(nullptr));
hipError_t hipMemcpyWithStream(void* to, const void* from, size_t size, hipMemcpyKind kind,
                               hipStream_t stream);
hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset,
                             hipMemcpyKind kind);
hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size, size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset,
                               hipMemcpyKind kind);
hipError_t hipMemset(void* to, int value, size_t size);
hipError_t hipMemsetAsync(void* to, int value, size_t size,
                          hipStream_t stream KERNELMILL_DEFAULT(nullptr));
hipError_t hipMemGetInfo(size_t* free, size_t* total);

// Streams and events
hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority);
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status);
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                   unsigned long long* id);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                              unsigned flags KERNELMILL_DEFAULT(0));
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* context);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream KERNELMILL_DEFAULT(nullptr));
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags);
hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t* handle, hipEvent_t event);
hipError_t hipIpcOpenEventHandle(hipEvent_t* event, hipIpcEventHandle_t handle);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);

// Launches
hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                        int block_size, size_t shared_bytes);
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* function,
                                             size_t shared_bytes, int limit);
hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                           size_t shared_bytes, hipStream_t stream);
hipError_t hipLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** args,
                                      unsigned shared_bytes, hipStream_t stream);

#ifdef __cplusplus
}

template <typename T>
inline hipError_t hipMalloc(T** pointer, size_t size) {
  return hipMalloc(reinterpret_cast<void**>(pointer), size);
}
template <typename T>
inline hipError_t hipHostMalloc(T** pointer, size_t size, unsigned flags = 0) {
  return hipHostMalloc(reinterpret_cast<void**>(pointer), size, flags);
}
template <typename T>
inline hipError_t hipMallocAsync(T** pointer, size_t size, hipStream_t stream) {
  return hipMallocAsync(reinterpret_cast<void**>(pointer), size, stream);
}
// A symbol is named, not pointed to, in HIP's sources.
template <typename T>
inline hipError_t hipMemcpyToSymbol(const T& symbol, const void* from, size_t size,
                                    size_t offset = 0, hipMemcpyKind kind = hipMemcpyHostToDevice) {
  return hipMemcpyToSymbol(static_cast<const void*>(&symbol), from, size, offset, kind);
}
template <typename T>
inline hipError_t hipMemcpyToSymbolAsync(const T& symbol, const void* from, size_t size,
                                         size_t offset = 0,
                                         hipMemcpyKind kind = hipMemcpyHostToDevice,
                                         hipStream_t stream = nullptr) {
  return hipMemcpyToSymbolAsync(static_cast<const void*>(&symbol), from, size, offset, kind, stream);
}
template <typename T>
inline hipError_t hipMemcpyFromSymbol(void* to, const T& symbol, size_t size, size_t offset = 0,
                                      hipMemcpyKind kind = hipMemcpyDeviceToHost) {
  return hipMemcpyFromSymbol(to, static_cast<const void*>(&symbol), size, offset, kind);
}
template <typename F>
inline hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, F* function,
                                                    size_t shared_bytes = 0, int limit = 0) {
  return hipOccupancyMaxPotentialBlockSize(grid, block, reinterpret_cast<const void*>(function),
                                           shared_bytes, limit);
}
template <typename F>
inline hipError_t hipFuncSetAttribute(F* function, hipFuncAttribute attribute, int value) {
  return hipFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}
template <typename F>
inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F* function,
                                                               int block_size,
                                                               size_t shared_bytes) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(function), block_size, shared_bytes);
}
#endif
