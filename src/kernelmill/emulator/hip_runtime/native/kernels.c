/* Questions about kernels: resources and occupancy. */
#include "device_properties.h"
#include "state.h"

static hipError_t ask(struct Function* function, int block_size, size_t lds, struct Facts* facts) {
  hipError_t error = require_device();
  if (error) return error;
  if (!function) return failed(hipErrorInvalidDeviceFunction);
  if (block_size <= 0 || block_size > DEVICE_MAX_WORKGROUP_SIZE) return failed(hipErrorInvalidValue);
  if ((error = load_module(function->module))) return error;
  return failed(state->emulator.facts(function->module->id, function->name, (uint32_t)block_size,
                                      lds, facts));
}

EXPORT hipError_t hipFuncGetAttributes(FunctionAttributes* attributes, const void* stub) {
  struct Facts facts;
  const hipError_t error = ask(find_function(stub), 64, 0, &facts);
  if (error) return error;
  *attributes = (FunctionAttributes){
      .local_bytes = facts.private_bytes,
      .max_dynamic_lds_bytes = DEVICE_LDS_BYTES - (int)facts.lds_bytes,
      .max_lanes = (int)facts.max_workgroup_size,
      .registers = (int)facts.registers,
      .lds_bytes = facts.lds_bytes,
  };
  return hipSuccess;
}

EXPORT hipError_t hipFuncGetAttribute(int* value, int attribute, hipFunction_t function) {
  FunctionAttributes all;
  const hipError_t error = hipFuncGetAttributes(&all, function);
  if (error) return error;
  const int values[] = {all.max_lanes, (int)all.lds_bytes, 0, (int)all.local_bytes, all.registers,
                        0, 0, 0, all.max_dynamic_lds_bytes, 0};
  if (attribute < 0 || attribute >= (int)(sizeof values / sizeof *values)) {
    return failed(hipErrorInvalidValue);
  }
  *value = values[attribute];
  return hipSuccess;
}

EXPORT hipError_t hipFuncSetAttribute(const void* stub, int attribute, int value) {
  enum { kMaxDynamicLds = 8 };
  if (attribute == kMaxDynamicLds && value > DEVICE_LDS_BYTES) return failed(hipErrorInvalidValue);
  return find_function(stub) ? hipSuccess : failed(hipErrorInvalidDeviceFunction);
}

EXPORT hipError_t hipFuncSetCacheConfig(const void* stub, int config) {
  (void)stub, (void)config;
  return hipSuccess;
}

EXPORT hipError_t hipFuncSetSharedMemConfig(const void* stub, int config) {
  (void)stub, (void)config;
  return hipSuccess;
}

EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* stub,
                                                               int block_size, size_t lds) {
  struct Facts facts;
  const hipError_t error = ask(find_function(stub), block_size, lds, &facts);
  if (!error) *blocks = (int)facts.blocks_per_unit;
  return error;
}

EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                        const void* stub,
                                                                        int block_size, size_t lds,
                                                                        unsigned flags) {
  (void)flags;
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, stub, block_size, lds);
}

EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                     hipFunction_t function,
                                                                     int block_size, size_t lds) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, lds);
}

/* The block size with the most lanes at work on a compute unit; the smallest of equals. */
EXPORT hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* stub,
                                                    size_t lds, int limit) {
  struct Function* function = find_function(stub);
  struct Facts facts;
  hipError_t error = ask(function, 64, lds, &facts);
  if (error) return error;
  const int most = limit > 0 && limit < (int)facts.max_workgroup_size
                       ? limit : (int)facts.max_workgroup_size;
  int best_lanes = -1;
  for (int size = 64; size <= most; size += 64) {
    if ((error = ask(function, size, lds, &facts))) return error;
    if ((int)facts.blocks_per_unit * size > best_lanes) {
      best_lanes = (int)facts.blocks_per_unit * size;
      *block = size;
      *grid = (int)facts.blocks_per_unit * DEVICE_COMPUTE_UNITS;
    }
  }
  return best_lanes < 0 ? failed(hipErrorInvalidValue) : hipSuccess;
}

EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                                          hipFunction_t function, size_t lds,
                                                          int limit) {
  return hipOccupancyMaxPotentialBlockSize(grid, block, function, lds, limit);
}
