/* Attaching the emulator, and errors. */
#include "state.h"

#include <stdio.h>
#include <string.h>

static struct State own = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct State* state = &own;
static THREAD_LOCAL hipError_t last_error;

static const char kNoEmulator[] =
    "no emulator in this process: start it with kernel-emulator run -- COMMAND";

/* ---- for the emulator ---- */

EXPORT void* emulator_state(void) { return state; }

/* libamdhip64.so.6 and .so.7 may both be in one process: one of them uses the state of the other. */
EXPORT void emulator_share(void* other) { state = other; }

EXPORT void emulator_attach(const struct Emulator* emulator) {
  pthread_mutex_lock(&state->lock);
  state->emulator = *emulator;
  state->is_attached = 1;
  pthread_mutex_unlock(&state->lock);
}

/* Python ends before the process does: what destructors call after that must not reach it. */
EXPORT void emulator_detach(void) {
  pthread_mutex_lock(&state->lock);
  state->has_left = state->is_attached;
  state->is_attached = 0;
  pthread_mutex_unlock(&state->lock);
}

/* Say what went wrong, before a callback returns an error. */
EXPORT void emulator_report(hipError_t error, const char* text) {
  pthread_mutex_lock(&state->lock);
  state->fault = error;
  state->is_seen = 0;
  snprintf(state->fault_text, sizeof state->fault_text, "%s", text);
  pthread_mutex_unlock(&state->lock);
}

/* The fault that nobody has seen yet, or 0. */
EXPORT hipError_t emulator_peek_fault(void) { return state->is_seen ? hipSuccess : state->fault; }

EXPORT hipError_t emulator_take_fault(const char** text) {
  const hipError_t fault = emulator_peek_fault();
  state->is_seen = 1;
  *text = state->fault_text;
  return fault;
}

/* ---- for the other files ---- */

hipError_t failed(hipError_t error) {
  if (error) last_error = error;
  return error;
}

hipError_t require_device(void) {
  static int is_said;
  if (state->is_attached) return hipSuccess;
  if (state->has_left) return failed(hipErrorDeinitialized);
  if (!is_said) fprintf(stderr, "libamdhip64 (emulated): %s\n", kNoEmulator);
  is_said = 1;
  return failed(hipErrorNoDevice);
}

hipError_t settle(void) {
  const char* text;
  const hipError_t error = require_device();
  return error ? error : failed(emulator_take_fault(&text));
}

hipError_t unsupported(const char* function) {
  char text[256];
  const hipError_t error = require_device();
  if (error) return error;
  snprintf(text, sizeof text, "%s is not emulated", function);
  emulator_report(hipErrorNotSupported, text);
  fprintf(stderr, "libamdhip64 (emulated): %s\n", text);
  return failed(hipErrorNotSupported);
}

/* ---- HIP ---- */

static void see(hipError_t error) {
  if (error && error == state->fault) state->is_seen = 1;
}

EXPORT hipError_t hipPeekAtLastError(void) {
  see(last_error);
  return last_error;
}

EXPORT hipError_t hipGetLastError(void) {
  const hipError_t error = hipPeekAtLastError();
  last_error = hipSuccess;
  return error;
}

EXPORT hipError_t hipExtGetLastError(void) { return hipGetLastError(); }

static const struct {
  hipError_t error;
  const char *name, *text;
} kErrors[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorDeinitialized, "hipErrorDeinitialized", "the emulator has left this process"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {hipErrorInvalidSymbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {hipErrorInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection", "invalid copy direction"},
    {hipErrorMissingConfiguration, "hipErrorMissingConfiguration", "no launch configuration"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {hipErrorNoDevice, "hipErrorNoDevice", kNoEmulator},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu", "no device code for this GPU"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorIllegalAddress, "hipErrorIllegalAddress", "illegal memory access"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
    {hipErrorUnknown, "hipErrorUnknown", "unknown error"},
};

EXPORT const char* hipGetErrorName(hipError_t error) {
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i) {
    if (kErrors[i].error == error) return kErrors[i].name;
  }
  return "hipErrorUnknown";
}

/* The last fault's own text says more than the name of its number. */
EXPORT const char* hipGetErrorString(hipError_t error) {
  if (error && error == state->fault) return state->fault_text;
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i) {
    if (kErrors[i].error == error) return kErrors[i].text;
  }
  return "unknown error";
}

EXPORT hipError_t hipDrvGetErrorName(hipError_t error, const char** text) {
  *text = hipGetErrorName(error);
  return hipSuccess;
}

EXPORT hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
  *text = hipGetErrorString(error);
  return hipSuccess;
}
