# Builds for AMD GPUs.
#   kernel_device_component(NAME ...)   the .hip sources of one [kernel.NAME], for its architectures
include("${CMAKE_CURRENT_LIST_DIR}/hip_cross.cmake")

# The binding is compiled by the C++ compiler, against the same HIP headers.
target_include_directories(${KERNEL_SDK} SYSTEM INTERFACE "${HIP_CROSS_HEADERS}")

function(kernel_device_component name)
  cmake_parse_arguments(
    PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES;DEFINES;CXX_FLAGS;DEVICE_FLAGS;ARCHS")
  list(TRANSFORM arg_SOURCES PREPEND "${KERNEL_ROOT}/")
  list(TRANSFORM arg_INCLUDES PREPEND "${KERNEL_ROOT}/")
  list(TRANSFORM arg_DEFINES PREPEND "-D")
  hip_cross_sources(
    ${KERNEL_OPS_NAME}
    ID "${KERNEL_OPS_NAME}"
    ARCHS ${arg_ARCHS}
    SOURCES ${arg_SOURCES}
    INCLUDES ${arg_INCLUDES}
    # The author decides which warnings are errors: with hip-flags = ["-Werror"].
    FLAGS -Wno-error ${KERNEL_PREFIX_MAPS} ${arg_DEFINES} "-D${KERNEL_SDK_NAME_MACRO}=${KERNEL_OPS_NAME}"
          -fvisibility=hidden ${arg_CXX_FLAGS} ${arg_DEVICE_FLAGS})
endfunction()
