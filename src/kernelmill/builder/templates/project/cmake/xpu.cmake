# Builds for Intel GPUs: every source is compiled by icpx, host and device at once.
#   kernel_device_component(NAME ...)   the .sycl sources of one [kernel.NAME]
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "IntelLLVM")
  find_program(
    KERNEL_ICPX icpx
    HINTS "$ENV{CMPLR_ROOT}/bin" "$ENV{ONEAPI_ROOT}/compiler/latest/bin"
          "/opt/intel/oneapi/compiler/latest/bin")
  if(KERNEL_ICPX)
    message(FATAL_ERROR "kernels for XPU are compiled by icpx: configure a new folder with "
                        "-DCMAKE_CXX_COMPILER=${KERNEL_ICPX}")
  endif()
  message(FATAL_ERROR "no icpx in $CMPLR_ROOT/bin, $ONEAPI_ROOT/compiler/latest/bin, PATH or "
                      "/opt/intel/oneapi: install Intel's oneAPI DPC++ compiler")
endif()

target_compile_options(${KERNEL_SDK} INTERFACE -fsycl)
target_link_options(${KERNEL_SDK} INTERFACE -fsycl)
if(EXISTS "${torch_lib}/libtorch_xpu.so")
  target_link_libraries(${KERNEL_SDK} INTERFACE "${torch_lib}/libtorch_xpu.so" "${torch_lib}/libc10_xpu.so")
endif()

function(kernel_device_component name)
  cmake_parse_arguments(
    PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES;DEFINES;CXX_FLAGS;DEVICE_FLAGS;ARCHS")
  kernel_component(
    ${name}_sycl SOURCES ${arg_SOURCES} INCLUDES ${arg_INCLUDES} DEFINES ${arg_DEFINES}
    CXX_FLAGS -xc++ ${arg_CXX_FLAGS})
endfunction()
