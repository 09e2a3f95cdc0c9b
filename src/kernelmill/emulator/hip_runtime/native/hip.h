/* The HIP ABI as far as the stand-in needs it: names and numbers that AMD's runtime fixes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int hipError_t;
enum {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorDeinitialized = 4,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidSymbol = 13,
  hipErrorInvalidDevicePointer = 17,
  hipErrorInvalidMemcpyDirection = 21,
  hipErrorMissingConfiguration = 52,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidImage = 200,
  hipErrorNoBinaryForGpu = 209,
  hipErrorFileNotFound = 301,
  hipErrorInvalidHandle = 400,
  hipErrorNotFound = 500,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
  hipErrorUnknown = 999,
};

enum { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice };

typedef struct { uint32_t x, y, z; } dim3;
typedef struct Stream* hipStream_t;
typedef struct Event* hipEvent_t;
typedef struct Module* hipModule_t;
typedef struct Function* hipFunction_t;

/* hipFuncAttributes, 56 bytes. */
typedef struct {
  int binary_version, cache_mode;
  size_t const_bytes, local_bytes;
  int max_dynamic_lds_bytes, max_lanes, registers, carveout, ptx_version;
  size_t lds_bytes;
} FunctionAttributes;

/* hipPointerAttribute_t, 32 bytes. */
typedef struct {
  int type, device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned flags;
} PointerAttributes;
enum { hipMemoryTypeUnregistered = 0, hipMemoryTypeHost = 1, hipMemoryTypeDevice = 2 };

/* HIP_LAUNCH_CONFIG: the argument of hipLaunchKernelExC. */
typedef struct {
  dim3 grid, block;
  size_t dynamic_lds_bytes;
  hipStream_t stream;
  void* attributes;
  unsigned attribute_count;
} LaunchConfig;
