// Registration of operators and of the Python module, for kernels whose names are macros.
//
//   TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) { ops.def(...); }
//   REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
//
// TORCH_LIBRARY pastes its first argument as it is written, so a macro has to be expanded one call earlier.
// The Python module is empty: loading it runs the static registration of the operators. It uses only
// Python's limited API, so one binary serves every Python from 3.9.
#pragma once

#include <Python.h>

#define KERNEL_PASTE_(A, B) A##B
#define KERNEL_PASTE(A, B) KERNEL_PASTE_(A, B)
#define KERNEL_TEXT_(A) #A
#define KERNEL_TEXT(A) KERNEL_TEXT_(A)

#define TORCH_LIBRARY_EXPAND(NAME, MODULE) TORCH_LIBRARY(NAME, MODULE)
#define TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE) TORCH_LIBRARY_IMPL(NAME, DEVICE, MODULE)
#define STABLE_TORCH_LIBRARY_EXPAND(NAME, MODULE) STABLE_TORCH_LIBRARY(NAME, MODULE)
#define STABLE_TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE) \
  STABLE_TORCH_LIBRARY_IMPL(NAME, DEVICE, MODULE)

#define REGISTER_EXTENSION(NAME)                                                              \
  PyMODINIT_FUNC KERNEL_PASTE(PyInit_, NAME)() {                                              \
    static PyModuleDef module = {                                                             \
        PyModuleDef_HEAD_INIT, KERNEL_TEXT(NAME), nullptr, 0, nullptr, nullptr, nullptr,      \
        nullptr,               nullptr};                                                      \
    return PyModule_Create(&module);                                                          \
  }
