/* Memory. Device memory is host memory that the emulator knows of; copies are immediate. */
#include <stdlib.h>
#include <string.h>

#include "device_properties.h"
#include "state.h"

/* ---- allocation ---- */

EXPORT hipError_t hipMalloc(void** address, size_t size) {
  const hipError_t error = require_device();
  if (error) return error;
  if (!address) return failed(hipErrorInvalidValue);
  *address = NULL;
  return size ? failed(state->emulator.allocate(size, address)) : hipSuccess;
}

EXPORT hipError_t hipFree(void* address) {
  const hipError_t error = require_device();
  if (error || !address) return error;
  return failed(state->emulator.release(address));
}

EXPORT hipError_t hipMallocAsync(void** address, size_t size, hipStream_t stream) {
  (void)stream;
  return hipMalloc(address, size);
}

EXPORT hipError_t hipFreeAsync(void* address, hipStream_t stream) {
  (void)stream;
  return hipFree(address);
}

/* Memory that the host writes to without telling us. */
static hipError_t allocate_shared(void** address, size_t size) {
  const hipError_t error = hipMalloc(address, size);
  return error || !size ? error : failed(state->emulator.written(*address, size));
}

#define HOST_ALLOCATION(name, ...)                                     \
  EXPORT hipError_t name(void** address, size_t size, ##__VA_ARGS__) { \
    return allocate_shared(address, size);                             \
  }
HOST_ALLOCATION(hipHostMalloc, unsigned flags __attribute__((unused)))
HOST_ALLOCATION(hipHostAlloc, unsigned flags __attribute__((unused)))
HOST_ALLOCATION(hipMallocManaged, unsigned flags __attribute__((unused)))
HOST_ALLOCATION(hipExtMallocWithFlags, unsigned flags __attribute__((unused)))
HOST_ALLOCATION(hipMemAllocHost)
HOST_ALLOCATION(hipMallocHost)

EXPORT hipError_t hipHostFree(void* address) { return hipFree(address); }
EXPORT hipError_t hipFreeHost(void* address) { return hipFree(address); }

EXPORT hipError_t hipMallocPitch(void** address, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return hipMalloc(address, *pitch * height);
}

EXPORT hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  (void)flags;
  *device = host;
  return require_device();
}

EXPORT hipError_t hipHostGetFlags(unsigned* flags, void* host) {
  (void)host;
  *flags = 0;
  return require_device();
}

EXPORT hipError_t hipMemGetInfo(size_t* available, size_t* total) {
  const hipError_t error = require_device();
  *available = *total = error ? 0 : DEVICE_MEMORY_BYTES;
  return error;
}

/* ---- questions ---- */

static hipError_t range(const void* address, void** start, size_t* size) {
  const hipError_t error = require_device();
  return error ? error : state->emulator.range(address, start, size);
}

EXPORT hipError_t hipMemGetAddressRange(void** start, size_t* size, void* address) {
  void* found;
  size_t found_size;
  if (range(address, &found, &found_size)) return failed(hipErrorNotFound);
  if (start) *start = found;
  if (size) *size = found_size;
  return hipSuccess;
}

EXPORT hipError_t hipMemPtrGetInfo(void* address, size_t* size) {
  return hipMemGetAddressRange(NULL, size, address);
}

EXPORT hipError_t hipPointerGetAttributes(PointerAttributes* attributes, const void* address) {
  void* start;
  size_t size;
  const hipError_t error = require_device();
  if (error) return error;
  memset(attributes, 0, sizeof *attributes);
  if (range(address, &start, &size)) {
    attributes->type = hipMemoryTypeUnregistered;
    attributes->device = -2;
  } else {
    attributes->type = hipMemoryTypeDevice;
    attributes->device_pointer = (void*)address;
  }
  return hipSuccess;
}

/* ---- copies ---- */

/* Device memory is checked as a GPU's driver does; host memory cannot be. */
static int is_device_memory(const void* address, size_t size) {
  void* start;
  size_t length;
  if (range(address, &start, &length)) return 0;
  return (size_t)((const char*)address - (const char*)start) + size <= length;
}

static hipError_t copy(void* to, const void* from, size_t size, int kind) {
  if (!size) return hipSuccess;
  if (!to || !from) return failed(hipErrorInvalidValue);
  if ((kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice) &&
      !is_device_memory(to, size)) {
    return failed(hipErrorInvalidValue);
  }
  if ((kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice) &&
      !is_device_memory(from, size)) {
    return failed(hipErrorInvalidValue);
  }
  memmove(to, from, size);
  return kind == hipMemcpyDeviceToHost ? hipSuccess : failed(state->emulator.written(to, size));
}

EXPORT hipError_t hipMemcpy(void* to, const void* from, size_t size, int kind) {
  const hipError_t error = settle();
  return error ? error : copy(to, from, size, kind);
}

EXPORT hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, int kind,
                                 hipStream_t stream) {
  (void)stream;
  const hipError_t error = require_device();
  return error ? error : copy(to, from, size, kind);
}

EXPORT hipError_t hipMemcpyWithStream(void* to, const void* from, size_t size, int kind,
                                      hipStream_t stream) {
  (void)stream;
  return hipMemcpy(to, from, size, kind);
}

#define DIRECTED_COPY(name, kind)                                                               \
  EXPORT hipError_t name(void* to, void* from, size_t size) { return hipMemcpy(to, from, size, kind); } \
  EXPORT hipError_t name##Async(void* to, void* from, size_t size, hipStream_t stream) {        \
    return hipMemcpyAsync(to, from, size, kind, stream);                                        \
  }
DIRECTED_COPY(hipMemcpyHtoD, hipMemcpyHostToDevice)
DIRECTED_COPY(hipMemcpyDtoH, hipMemcpyDeviceToHost)
DIRECTED_COPY(hipMemcpyDtoD, hipMemcpyDeviceToDevice)

EXPORT hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                                size_t size) {
  if (to_device || from_device) return failed(hipErrorInvalidDevice);
  return hipMemcpy(to, from, size, hipMemcpyDeviceToDevice);
}

EXPORT hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                     size_t size, hipStream_t stream) {
  if (to_device || from_device) return failed(hipErrorInvalidDevice);
  return hipMemcpyAsync(to, from, size, hipMemcpyDeviceToDevice, stream);
}

EXPORT hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, int kind) {
  hipError_t error = settle();
  for (size_t row = 0; row < height && !error; ++row) {
    error = copy((char*)to + row * to_pitch, (const char*)from + row * from_pitch, width, kind);
  }
  return error;
}

EXPORT hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                   size_t width, size_t height, int kind, hipStream_t stream) {
  (void)stream;
  return hipMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

/* ---- filling ---- */

static hipError_t fill(void* to, const void* value, size_t width, size_t count) {
  const hipError_t error = require_device();
  if (error || !count) return error;
  if (!is_device_memory(to, width * count)) return failed(hipErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) memcpy((char*)to + i * width, value, width);
  return failed(state->emulator.written(to, width * count));
}

EXPORT hipError_t hipMemset(void* to, int value, size_t size) {
  const unsigned char octet = (unsigned char)value;
  return fill(to, &octet, 1, size);
}

EXPORT hipError_t hipMemsetAsync(void* to, int value, size_t size, hipStream_t stream) {
  (void)stream;
  return hipMemset(to, value, size);
}

#define FILL(name, type)                                                                \
  EXPORT hipError_t name(void* to, type value, size_t count) {                          \
    return fill(to, &value, sizeof value, count);                                       \
  }                                                                                     \
  EXPORT hipError_t name##Async(void* to, type value, size_t count, hipStream_t stream) { \
    (void)stream;                                                                       \
    return fill(to, &value, sizeof value, count);                                       \
  }
FILL(hipMemsetD8, unsigned char)
FILL(hipMemsetD16, unsigned short)

/* NOTE: the value is an int here, and the count one of words. */
FILL(hipMemsetD32, int)

EXPORT hipError_t hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  hipError_t error = hipSuccess;
  for (size_t row = 0; row < height && !error; ++row) {
    error = hipMemset((char*)to + row * pitch, value, width);
  }
  return error;
}

EXPORT hipError_t hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                   hipStream_t stream) {
  (void)stream;
  return hipMemset2D(to, pitch, value, width, height);
}

/* ---- advice, which changes nothing ---- */

EXPORT hipError_t hipMemPrefetchAsync(const void* address, size_t size, int device,
                                      hipStream_t stream) {
  (void)address, (void)size, (void)device, (void)stream;
  return require_device();
}

EXPORT hipError_t hipMemAdvise(const void* address, size_t size, int advice, int device) {
  (void)address, (void)size, (void)advice, (void)device;
  return require_device();
}
