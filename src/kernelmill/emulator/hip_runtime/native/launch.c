/* Device code: registration, modules, launches, and questions about kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_properties.h"
#include "state.h"

#define WRAPPER_MAGIC 0x48495046u /* "HIPF" */

struct Wrapper {
  uint32_t magic, version;
  const void* image;
  const void* unused;
};

static struct Module* new_module(const void* image) {
  struct Module* module = calloc(1, sizeof *module);
  if (!module) return NULL;
  pthread_mutex_lock(&state->lock);
  module->id = ++state->module_count;
  module->image = image;
  pthread_mutex_unlock(&state->lock);
  return module;
}

hipError_t load_module(struct Module* module) {
  hipError_t error = require_device();
  if (error || module->is_loaded) return error;
  error = state->emulator.load(module->id, module->image);
  module->is_loaded = !error;
  return failed(error);
}

/* ---- what clang's host code calls ---- */

EXPORT void** __hipRegisterFatBinary(const void* data) {
  const struct Wrapper* wrapper = data;
  if (wrapper->magic != WRAPPER_MAGIC || wrapper->version != 1) {
    fprintf(stderr, "libamdhip64 (emulated): a library registers device code of unknown form\n");
    return NULL;
  }
  return (void**)new_module(wrapper->image);
}

/* Code may be unloaded while others still launch: its entries go, its record stays. */
EXPORT void __hipUnregisterFatBinary(void** handle) {
  struct Module* module = (struct Module*)handle;
  pthread_mutex_lock(&state->lock);
  for (struct Function** at = &state->functions; *at;) {
    struct Function* entry = *at;
    if (entry->module == module) {
      *at = entry->next;
      free(entry);
    } else {
      at = &entry->next;
    }
  }
  for (struct Variable** at = &state->variables; *at;) {
    struct Variable* entry = *at;
    if (entry->module == module) {
      *at = entry->next;
      free(entry);
    } else {
      at = &entry->next;
    }
  }
  pthread_mutex_unlock(&state->lock);
}

static struct Function* new_function(struct Module* module, const void* stub, const char* name) {
  struct Function* entry = calloc(1, sizeof *entry);
  if (!entry) return NULL;
  *entry = (struct Function){.module = module, .stub = stub, .name = name};
  pthread_mutex_lock(&state->lock);
  entry->next = state->functions;
  state->functions = entry;
  pthread_mutex_unlock(&state->lock);
  return entry;
}

EXPORT void __hipRegisterFunction(void** handle, const void* stub, char* device_name,
                                  const char* name, unsigned lanes, void* thread, void* block,
                                  void* block_size, void* grid_size, int* wavefront) {
  (void)device_name, (void)lanes, (void)thread, (void)block, (void)block_size;
  (void)grid_size, (void)wavefront;
  if (handle) new_function((struct Module*)handle, stub, name);
}

EXPORT void __hipRegisterVar(void** handle, void* shadow, char* host_name, char* name, int is_extern,
                             size_t size, int is_constant, int is_global) {
  (void)host_name, (void)is_extern, (void)size, (void)is_constant, (void)is_global;
  struct Variable* entry = handle ? calloc(1, sizeof *entry) : NULL;
  if (!entry) return;
  *entry = (struct Variable){.module = (struct Module*)handle, .shadow = shadow, .name = name};
  pthread_mutex_lock(&state->lock);
  entry->next = state->variables;
  state->variables = entry;
  pthread_mutex_unlock(&state->lock);
}

EXPORT void __hipRegisterManagedVar(void** handle, void** pointer, void* initial, const char* name,
                                    size_t size, unsigned alignment) {
  (void)handle, (void)pointer, (void)initial, (void)size, (void)alignment;
  fprintf(stderr, "libamdhip64 (emulated): __managed__ variable %s is not emulated\n", name);
}

static THREAD_LOCAL struct {
  dim3 grid, block;
  size_t dynamic_lds_bytes;
  hipStream_t stream;
} pushed[8];
static THREAD_LOCAL unsigned pushed_count;

EXPORT hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
  if (pushed_count == sizeof pushed / sizeof *pushed) return failed(hipErrorInvalidConfiguration);
  pushed[pushed_count].grid = grid;
  pushed[pushed_count].block = block;
  pushed[pushed_count].dynamic_lds_bytes = lds;
  pushed[pushed_count++].stream = stream;
  return hipSuccess;
}

EXPORT hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds,
                                            hipStream_t* stream) {
  if (!pushed_count) return failed(hipErrorMissingConfiguration);
  *grid = pushed[--pushed_count].grid;
  *block = pushed[pushed_count].block;
  *lds = pushed[pushed_count].dynamic_lds_bytes;
  *stream = pushed[pushed_count].stream;
  return hipSuccess;
}

/* ---- launches ---- */

struct Function* find_function(const void* stub) {
  struct Function* found = NULL;
  pthread_mutex_lock(&state->lock);
  for (struct Function* entry = state->functions; entry && !found; entry = entry->next) {
    /* A hipFunction_t is accepted where a stub is, as AMD's runtime does. */
    if (entry->stub == stub || entry == stub) found = entry;
  }
  pthread_mutex_unlock(&state->lock);
  return found;
}

static hipError_t launch(struct Function* function, struct Launch* what, dim3 grid, dim3 block,
                         size_t lds, hipStream_t stream) {
  hipError_t error = require_device();
  if (error) return error;
  if (!function) return failed(hipErrorInvalidDeviceFunction);
  const uint64_t lanes = (uint64_t)block.x * block.y * block.z;
  if (!grid.x || !grid.y || !grid.z || !lanes || lanes > DEVICE_MAX_WORKGROUP_SIZE) {
    return failed(hipErrorInvalidConfiguration);
  }
  if ((error = load_module(function->module))) return error;
  what->module = function->module->id;
  what->kernel = function->name;
  memcpy(what->grid, &grid, sizeof what->grid);
  memcpy(what->block, &block, sizeof what->block);
  what->dynamic_lds_bytes = lds;
  what->stream = (uintptr_t)stream;
  error = state->emulator.launch(what);
  if (error != kInterrupted) return failed(error);
  state->emulator.interrupt();
  return failed(hipErrorLaunchFailure);
}

EXPORT hipError_t hipLaunchKernel(const void* stub, dim3 grid, dim3 block, void** arguments,
                                  size_t lds, hipStream_t stream) {
  struct Launch what = {.arguments = arguments};
  return launch(find_function(stub), &what, grid, block, lds, stream);
}

EXPORT hipError_t hipLaunchKernel_spt(const void* stub, dim3 grid, dim3 block, void** arguments,
                                      size_t lds, hipStream_t stream) {
  return hipLaunchKernel(stub, grid, block, arguments, lds, stream);
}

EXPORT hipError_t hipLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block,
                                             void** arguments, unsigned lds, hipStream_t stream) {
  (void)stub, (void)grid, (void)block, (void)arguments, (void)lds, (void)stream;
  return unsupported("hipLaunchCooperativeKernel (a barrier over the whole grid)");
}

EXPORT hipError_t hipExtLaunchKernel(const void* stub, dim3 grid, dim3 block, void** arguments,
                                     size_t lds, hipStream_t stream, hipEvent_t start,
                                     hipEvent_t stop, int flags) {
  extern hipError_t hipEventRecord(hipEvent_t, hipStream_t);
  (void)flags;
  if (start) hipEventRecord(start, stream);
  const hipError_t error = hipLaunchKernel(stub, grid, block, arguments, lds, stream);
  if (stop) hipEventRecord(stop, stream);
  return error;
}

EXPORT hipError_t hipLaunchKernelExC(const LaunchConfig* config, const void* stub,
                                     void** arguments) {
  return hipLaunchKernel(stub, config->grid, config->block, arguments, config->dynamic_lds_bytes,
                         config->stream);
}

/* `extra`: pairs of a key and a value, which give the arguments as one block of memory. */
static hipError_t read_extra(void** extra, struct Launch* what) {
  enum { kEnd = 3, kBuffer = 1, kSize = 2 };
  for (; extra && (uintptr_t)extra[0] != kEnd; extra += 2) {
    if ((uintptr_t)extra[0] == kBuffer) {
      what->packed = extra[1];
    } else if ((uintptr_t)extra[0] == kSize) {
      what->packed_bytes = *(size_t*)extra[1];
    } else {
      return failed(hipErrorInvalidValue);
    }
  }
  return hipSuccess;
}

EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                        unsigned grid_z, unsigned block_x, unsigned block_y,
                                        unsigned block_z, unsigned lds, hipStream_t stream,
                                        void** arguments, void** extra) {
  struct Launch what = {.arguments = arguments};
  const hipError_t error = arguments ? hipSuccess : read_extra(extra, &what);
  if (error) return error;
  return launch(find_function(function), &what, (dim3){grid_x, grid_y, grid_z},
                (dim3){block_x, block_y, block_z}, lds, stream);
}

/* ---- modules ---- */

static hipError_t load(hipModule_t* result, const void* image) {
  struct Module* module = new_module(image);
  if (!module) return failed(hipErrorOutOfMemory);
  const hipError_t error = load_module(module);
  if (!error) *result = module;
  return error;
}

EXPORT hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return load(module, image);
}

EXPORT hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned count,
                                      void* options, void** values) {
  (void)count, (void)options, (void)values;
  return load(module, image);
}

EXPORT hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return failed(hipErrorFileNotFound);
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  char* image = size > 0 ? malloc((size_t)size) : NULL;
  const int is_read = image && fread(image, 1, (size_t)size, file) == (size_t)size;
  fclose(file);
  const hipError_t error = is_read ? load(module, image) : failed(hipErrorInvalidImage);
  free(image); /* the emulator has its own copy */
  return error;
}

EXPORT hipError_t hipModuleUnload(hipModule_t module) {
  __hipUnregisterFatBinary((void**)module);
  return hipSuccess;
}

EXPORT hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module,
                                       const char* name) {
  struct Facts facts;
  const hipError_t error = state->emulator.facts(module->id, name, 64, 0, &facts);
  if (error) return failed(error);
  char* copy = strdup(name);
  *function = copy ? new_function(module, NULL, copy) : NULL;
  return *function ? hipSuccess : failed(hipErrorOutOfMemory);
}

EXPORT hipError_t hipModuleGetGlobal(void** address, size_t* size, hipModule_t module,
                                     const char* name) {
  void* found;
  size_t found_size;
  const hipError_t error = state->emulator.symbol(module->id, name, &found, &found_size);
  if (error) return failed(error);
  if (address) *address = found;
  if (size) *size = found_size;
  return hipSuccess;
}

EXPORT hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* stub) {
  *function = find_function(stub);
  return *function ? hipSuccess : failed(hipErrorInvalidDeviceFunction);
}

EXPORT const char* hipKernelNameRef(hipFunction_t function) { return function->name; }

EXPORT const char* hipKernelNameRefByPtr(const void* stub, hipStream_t stream) {
  (void)stream;
  const struct Function* function = find_function(stub);
  return function ? function->name : NULL;
}

/* ---- variables ---- */

static hipError_t find_symbol(const void* shadow, char** address, size_t* size) {
  struct Variable* found = NULL;
  pthread_mutex_lock(&state->lock);
  for (struct Variable* entry = state->variables; entry && !found; entry = entry->next) {
    if (entry->shadow == shadow) found = entry;
  }
  pthread_mutex_unlock(&state->lock);
  if (!found) return failed(hipErrorInvalidSymbol);
  const hipError_t error = load_module(found->module);
  if (error) return error;
  return failed(state->emulator.symbol(found->module->id, found->name, (void**)address, size));
}

EXPORT hipError_t hipGetSymbolAddress(void** address, const void* shadow) {
  size_t size;
  return find_symbol(shadow, (char**)address, &size);
}

EXPORT hipError_t hipGetSymbolSize(size_t* size, const void* shadow) {
  char* address;
  return find_symbol(shadow, &address, size);
}

EXPORT hipError_t hipMemcpyToSymbol(const void* shadow, const void* from, size_t count,
                                    size_t offset, int kind) {
  (void)kind;
  char* address;
  size_t size;
  const hipError_t error = find_symbol(shadow, &address, &size);
  if (error) return error;
  if (offset > size || count > size - offset) return failed(hipErrorInvalidValue);
  memcpy(address + offset, from, count);
  return hipSuccess;
}

EXPORT hipError_t hipMemcpyToSymbolAsync(const void* shadow, const void* from, size_t count,
                                         size_t offset, int kind, hipStream_t stream) {
  (void)stream;
  return hipMemcpyToSymbol(shadow, from, count, offset, kind);
}

EXPORT hipError_t hipMemcpyFromSymbol(void* to, const void* shadow, size_t count, size_t offset,
                                      int kind) {
  (void)kind;
  char* address;
  size_t size;
  hipError_t error = settle();
  if (error || (error = find_symbol(shadow, &address, &size))) return error;
  if (offset > size || count > size - offset) return failed(hipErrorInvalidValue);
  memcpy(to, address + offset, count);
  return hipSuccess;
}

EXPORT hipError_t hipMemcpyFromSymbolAsync(void* to, const void* shadow, size_t count,
                                           size_t offset, int kind, hipStream_t stream) {
  (void)stream;
  return hipMemcpyFromSymbol(to, shadow, count, offset, kind);
}
