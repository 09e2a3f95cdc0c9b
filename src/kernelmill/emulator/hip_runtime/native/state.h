/* What the parts of the stand-in share, and its interface to the emulator. */
#pragma once

#include <pthread.h>

#include "hip.h"

#define EXPORT __attribute__((visibility("default")))
#define THREAD_LOCAL __thread

/* One launch, as the emulator is given it. */
struct Launch {
  uint64_t module;
  const char* kernel;
  uint32_t grid[3];  /* in workgroups */
  uint32_t block[3]; /* in work-items */
  uint64_t dynamic_lds_bytes;
  void** arguments;    /* one pointer for each argument; or, where this is NULL: */
  const void* packed;  /* the arguments as the kernel reads them */
  uint64_t packed_bytes;
  uint64_t stream;
};

/* The answer to questions about a kernel. */
struct Facts {
  uint32_t registers, lds_bytes, private_bytes, max_workgroup_size, blocks_per_unit;
};

/* The emulator's part. Each returns a hipError_t; after an error it has called emulator_report. */
struct Emulator {
  hipError_t (*load)(uint64_t module, const void* image);
  hipError_t (*facts)(uint64_t module, const char* kernel, uint32_t block_size,
                      uint64_t dynamic_lds_bytes, struct Facts* facts);
  hipError_t (*symbol)(uint64_t module, const char* name, void** address, size_t* size);
  hipError_t (*launch)(const struct Launch* launch);
  hipError_t (*allocate)(size_t size, void** address);
  hipError_t (*release)(void* address);
  /* The device memory around an address; hipErrorInvalidValue, without a report, if there is none. */
  hipError_t (*range)(const void* address, void** start, size_t* size);
  /* The host wrote to device memory. */
  hipError_t (*written)(void* address, size_t size);
  /* Interrupts the program; called when a launch returned kInterrupted. Not earlier: the interrupt
   * must not come while the emulator still runs. */
  void (*interrupt)(void);
};

enum { kInterrupted = -1 };

struct Function {
  struct Function* next;
  struct Module* module;
  const void* stub; /* the host function that stands for the kernel; NULL in a loaded module */
  const char* name;
};

struct Variable {
  struct Variable* next;
  struct Module* module;
  const void* shadow; /* the host's variable of that name */
  const char* name;
};

struct Module {
  uint64_t id;
  const void* image;
  int is_loaded;
};

#define FAULT_TEXT_BYTES 8192

struct State {
  pthread_mutex_t lock;
  struct Emulator emulator;
  int is_attached;
  int has_left; /* attached once: the process ends */
  uint64_t module_count;
  struct Function* functions;
  struct Variable* variables;
  /* The last failure of the device. As on a GPU it surfaces at a later call; `is_seen` then. */
  hipError_t fault;
  int is_seen;
  char fault_text[FAULT_TEXT_BYTES];
};

/* One state for both sonames, see emulator_share. */
extern struct State* state;

/* Keep `error` for hipGetLastError, and return it. */
hipError_t failed(hipError_t error);
/* hipErrorNoDevice, with one line on stderr, unless an emulator is attached; hipErrorDeinitialized
 * when it has left. */
hipError_t require_device(void);
/* As require_device; then the fault that nobody has seen yet. What a synchronisation returns. */
hipError_t settle(void);
/* hipErrorNotSupported, with a report that names the function. */
hipError_t unsupported(const char* function);
void emulator_report(hipError_t error, const char* text);
hipError_t emulator_peek_fault(void);
hipError_t emulator_take_fault(const char** text);
hipError_t load_module(struct Module* module);
struct Function* find_function(const void* stub);
