/* The device, streams and events. Everything is synchronous: a stream is a name, an event a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device_properties.h"
#include "state.h"

struct Stream {
  unsigned flags;
  int priority;
};

struct Event {
  int is_recorded;
  struct timespec time;
};

/* ---- the device ---- */

static hipError_t check_device(int device) {
  const hipError_t error = require_device();
  return error ? error : device ? failed(hipErrorInvalidDevice) : hipSuccess;
}

EXPORT hipError_t hipInit(unsigned flags) {
  (void)flags;
  return require_device();
}

EXPORT hipError_t hipGetDeviceCount(int* count) {
  const hipError_t error = require_device();
  *count = !error;
  return error;
}

EXPORT hipError_t hipGetDevice(int* device) {
  *device = 0;
  return require_device();
}

EXPORT hipError_t hipSetDevice(int device) { return check_device(device); }

EXPORT hipError_t hipDeviceGet(int* device, int ordinal) {
  *device = 0;
  return check_device(ordinal);
}

EXPORT hipError_t hipDeviceGetName(char* name, int size, int device) {
  const hipError_t error = check_device(device);
  if (!error) snprintf(name, (size_t)size, "%s", DEVICE_NAME);
  return error;
}

EXPORT hipError_t hipDeviceTotalMem(size_t* size, int device) {
  *size = DEVICE_MEMORY_BYTES;
  return check_device(device);
}

EXPORT hipError_t hipDeviceComputeCapability(int* major, int* minor, int device) {
  *major = DEVICE_MAJOR;
  *minor = DEVICE_MINOR;
  return check_device(device);
}

EXPORT hipError_t hipDeviceGetUuid(void* uuid, int device) {
  memset(uuid, 0, 16);
  memcpy(uuid, "emulated MI300X", 16);
  return check_device(device);
}

EXPORT hipError_t hipDeviceGetPCIBusId(char* text, int size, int device) {
  const hipError_t error = check_device(device);
  if (!error) snprintf(text, (size_t)size, "0000:00:00.0");
  return error;
}

EXPORT hipError_t hipDeviceGetAttribute(int* value, int attribute, int device) {
  /* Numbers of hipDeviceAttribute_t. What is not here is not supported, or nothing: 0. */
  static const struct { int attribute, value; } kValues[] = {
      {5, DEVICE_CLOCK_KHZ}, {9, 1}, {19, DEVICE_L2_BYTES}, {23, DEVICE_MAJOR}, {24, 1},
      {25, DEVICE_MAX_LANES_PER_UNIT / DEVICE_WAVEFRONT_SIZE},
      {26, DEVICE_MAX_WORKGROUP_SIZE}, {27, DEVICE_MAX_WORKGROUP_SIZE},
      {28, DEVICE_MAX_WORKGROUP_SIZE}, {29, 0x7fffffff}, {30, 65536}, {31, 65536},
      {55, DEVICE_MAX_WORKGROUP_SIZE}, {56, DEVICE_MAX_WORKGROUP_SIZE},
      {57, DEVICE_MAX_LANES_PER_UNIT}, {58, 0x7fffffff}, {59, DEVICE_MEMORY_BUS_BITS},
      {60, DEVICE_MEMORY_CLOCK_KHZ}, {61, DEVICE_MINOR}, {63, DEVICE_COMPUTE_UNITS},
      {71, DEVICE_REGISTERS_PER_BLOCK}, {72, DEVICE_REGISTERS_PER_BLOCK},
      {74, DEVICE_LDS_BYTES}, {75, DEVICE_LDS_BYTES}, {76, DEVICE_LDS_BYTES},
      {83, 0x7fffffff}, {84, 0x7fffffff}, {85, 1}, {87, DEVICE_WAVEFRONT_SIZE}, {90, 1},
      {10002, DEVICE_LDS_BYTES}, {10015, DEVICE_COMPUTE_UNITS}, {10017, 100000}, {10018, 8},
  };
  const hipError_t error = check_device(device);
  if (error) return error;
  *value = 0;
  for (size_t i = 0; i < sizeof kValues / sizeof *kValues; ++i) {
    if (kValues[i].attribute == attribute) *value = kValues[i].value;
  }
  return hipSuccess;
}

/* hipDeviceProp_t of HIP 6 and 7: 1472 bytes. By offset, for most of its fields concern textures. */
EXPORT hipError_t hipGetDevicePropertiesR0600(void* properties, int device) {
  enum { kSize = 1472, kName = 0, kTotalMemory = 288, kLds = 296, kConstMemory = 352,
         kLdsPerUnit = 640, kLdsOptin = 696, kArch = 1160, kMaxLds = 1416 };
  static const struct { int offset, value; } kIntegers[] = {
      {304, DEVICE_REGISTERS_PER_BLOCK}, {308, DEVICE_WAVEFRONT_SIZE},
      {320, DEVICE_MAX_WORKGROUP_SIZE}, {324, DEVICE_MAX_WORKGROUP_SIZE},
      {328, DEVICE_MAX_WORKGROUP_SIZE}, {332, DEVICE_MAX_WORKGROUP_SIZE},
      {336, 0x7fffffff}, {340, 65536}, {344, 65536}, {348, DEVICE_CLOCK_KHZ},
      {360, DEVICE_MAJOR}, {364, DEVICE_MINOR}, {388, DEVICE_COMPUTE_UNITS}, {400, 1}, {576, 1},
      {604, 1}, {608, DEVICE_MEMORY_CLOCK_KHZ}, {612, DEVICE_MEMORY_BUS_BITS},
      {616, DEVICE_L2_BYTES}, {624, DEVICE_MAX_LANES_PER_UNIT}, {648, DEVICE_REGISTERS_PER_BLOCK},
      {652, 1}, {712, DEVICE_MAX_LANES_PER_UNIT / DEVICE_WAVEFRONT_SIZE}, {1424, 100000},
      {1428, 0x1ffff} /* every bit of hipDeviceArch_t */,
  };
  static const struct { int offset; uint64_t value; } kSizes[] = {
      {kTotalMemory, DEVICE_MEMORY_BYTES}, {kLds, DEVICE_LDS_BYTES}, {kConstMemory, 0x7fffffff},
      {kLdsPerUnit, DEVICE_LDS_BYTES}, {kLdsOptin, DEVICE_LDS_BYTES}, {kMaxLds, DEVICE_LDS_BYTES},
  };
  char* out = properties;
  const hipError_t error = check_device(device);
  if (error) return error;
  memset(out, 0, kSize);
  strcpy(out + kName, DEVICE_NAME);
  strcpy(out + kArch, DEVICE_ARCH);
  for (size_t i = 0; i < sizeof kIntegers / sizeof *kIntegers; ++i) {
    memcpy(out + kIntegers[i].offset, &kIntegers[i].value, sizeof(int));
  }
  for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i) {
    memcpy(out + kSizes[i].offset, &kSizes[i].value, sizeof(uint64_t));
  }
  return hipSuccess;
}

EXPORT hipError_t hipRuntimeGetVersion(int* version) {
  *version = RUNTIME_VERSION;
  return hipSuccess;
}

EXPORT hipError_t hipDriverGetVersion(int* version) { return hipRuntimeGetVersion(version); }

EXPORT hipError_t hipDeviceSynchronize(void) { return settle(); }
EXPORT hipError_t hipCtxSynchronize(void) { return settle(); }
EXPORT hipError_t hipDeviceReset(void) { return require_device(); }

EXPORT hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  (void)peer;
  *can = 0;
  return check_device(device);
}

EXPORT hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return require_device();
}

EXPORT hipError_t hipDeviceGetLimit(size_t* value, int limit) {
  (void)limit;
  *value = 0;
  return require_device();
}

/* Settings that change nothing here. */
#define SETTING(name, ...) \
  EXPORT hipError_t name(__VA_ARGS__) { return require_device(); }
SETTING(hipDeviceSetLimit, int limit __attribute__((unused)), size_t value __attribute__((unused)))
SETTING(hipDeviceSetCacheConfig, int config __attribute__((unused)))
SETTING(hipDeviceSetSharedMemConfig, int config __attribute__((unused)))
SETTING(hipSetDeviceFlags, unsigned flags __attribute__((unused)))
SETTING(hipProfilerStart, void)
SETTING(hipProfilerStop, void)

EXPORT hipError_t hipGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return require_device();
}

/* ---- streams ---- */

/* NOTE: torch's streams are not ours, so that a handle is never looked into without need. */
EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  const hipError_t error = require_device();
  if (error) return error;
  if (!(*stream = calloc(1, sizeof **stream))) return failed(hipErrorOutOfMemory);
  (*stream)->flags = flags;
  (*stream)->priority = priority;
  return hipSuccess;
}

EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return hipStreamCreateWithPriority(stream, flags, 0);
}

EXPORT hipError_t hipStreamCreate(hipStream_t* stream) {
  return hipStreamCreateWithPriority(stream, 0, 0);
}

/* The record stays: its address must not come back as another stream's. */
EXPORT hipError_t hipStreamDestroy(hipStream_t stream) {
  return stream ? require_device() : failed(hipErrorInvalidHandle);
}

EXPORT hipError_t hipStreamQuery(hipStream_t stream) {
  (void)stream;
  return settle();
}

EXPORT hipError_t hipStreamSynchronize(hipStream_t stream) {
  (void)stream;
  return settle();
}

EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  (void)stream, (void)flags;
  return event ? require_device() : failed(hipErrorInvalidHandle);
}

EXPORT hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  (void)stream;
  *flags = 0;
  return require_device();
}

EXPORT hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  (void)stream;
  *priority = 0;
  return require_device();
}

EXPORT hipError_t hipStreamGetDevice(hipStream_t stream, int* device) {
  (void)stream;
  *device = 0;
  return require_device();
}

EXPORT hipError_t hipStreamIsCapturing(hipStream_t stream, int* status) {
  (void)stream;
  *status = 0;
  return require_device();
}

EXPORT hipError_t hipStreamGetCaptureInfo(hipStream_t stream, int* status, uint64_t* id) {
  (void)stream;
  *status = 0;
  if (id) *id = 0;
  return require_device();
}

/* Nothing is ever captured, so a thread's mode only has to be remembered. */
EXPORT hipError_t hipThreadExchangeStreamCaptureMode(int* mode) {
  static _Thread_local int current = 0;
  const int wanted = *mode;
  *mode = current;
  current = wanted;
  return require_device();
}

/* A handle holds 64 bytes, passed by value; what another process made of one is not here. */
struct IpcEventHandle {
  char reserved[64];
};

EXPORT hipError_t hipIpcGetEventHandle(struct IpcEventHandle* handle, hipEvent_t event) {
  (void)handle, (void)event;
  return unsupported("hipIpcGetEventHandle (an event shared between processes)");
}

EXPORT hipError_t hipIpcOpenEventHandle(hipEvent_t* event, struct IpcEventHandle handle) {
  (void)event, (void)handle;
  return unsupported("hipIpcOpenEventHandle (an event shared between processes)");
}

EXPORT hipError_t hipStreamAddCallback(hipStream_t stream,
                                       void (*function)(hipStream_t, hipError_t, void*),
                                       void* context, unsigned flags) {
  (void)flags;
  const hipError_t error = require_device();
  if (!error) function(stream, emulator_peek_fault(), context);
  return error;
}

EXPORT hipError_t hipLaunchHostFunc(hipStream_t stream, void (*function)(void*), void* context) {
  (void)stream;
  const hipError_t error = require_device();
  if (!error) function(context);
  return error;
}

/* ---- events ---- */

EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  (void)flags;
  const hipError_t error = require_device();
  if (error) return error;
  *event = calloc(1, sizeof **event);
  return *event ? hipSuccess : failed(hipErrorOutOfMemory);
}

EXPORT hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, 0); }

EXPORT hipError_t hipEventDestroy(hipEvent_t event) {
  free(event);
  return require_device();
}

EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  (void)stream;
  if (!event) return failed(hipErrorInvalidHandle);
  event->is_recorded = 1;
  clock_gettime(CLOCK_MONOTONIC, &event->time);
  return require_device();
}

EXPORT hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  (void)flags;
  return hipEventRecord(event, stream);
}

EXPORT hipError_t hipEventQuery(hipEvent_t event) {
  return event ? settle() : failed(hipErrorInvalidHandle);
}

EXPORT hipError_t hipEventSynchronize(hipEvent_t event) { return hipEventQuery(event); }

EXPORT hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  if (!start || !stop || !start->is_recorded || !stop->is_recorded) {
    return failed(hipErrorInvalidHandle);
  }
  *milliseconds = (float)((double)(stop->time.tv_sec - start->time.tv_sec) * 1e3 +
                          (double)(stop->time.tv_nsec - start->time.tv_nsec) * 1e-6);
  return require_device();
}
