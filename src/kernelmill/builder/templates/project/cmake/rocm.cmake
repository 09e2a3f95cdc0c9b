# Builds for AMD GPUs.
#   kernel_translate(...)               CUDA sources: from here on, translated copies are compiled
#   kernel_device_component(NAME ...)   the device sources of one [kernel.NAME], for its architectures
include("${CMAKE_CURRENT_LIST_DIR}/hip_cross.cmake")

# The binding is compiled by the C++ compiler, against the same HIP headers.
target_include_directories(torch_sdk SYSTEM INTERFACE "${HIP_CROSS_HEADERS}")

function(kernel_translate)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILES;INCLUDES")
  list(TRANSFORM arg_INCLUDES PREPEND "--include=")
  set(copies "${CMAKE_BINARY_DIR}/hipified")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_SOURCE_DIR}/cmake/hipify" --root "${KERNEL_ROOT}"
            --output "${copies}" --torch-include "${torch_include_0}" ${arg_INCLUDES} ${arg_FILES}
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the CUDA sources cannot be translated to HIP")
  endif()
  file(STRINGS "${copies}.inputs" originals)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${originals})
  set(KERNEL_SOURCE_ROOT "${copies}" PARENT_SCOPE)
  set(KERNEL_PREFIX_MAPS ${KERNEL_PREFIX_MAPS} "-ffile-prefix-map=${copies}/=" PARENT_SCOPE)
endfunction()

function(kernel_device_component name)
  cmake_parse_arguments(
    PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES;DEFINES;CXX_FLAGS;DEVICE_FLAGS;ARCHS")
  list(TRANSFORM arg_SOURCES PREPEND "${KERNEL_SOURCE_ROOT}/")
  list(TRANSFORM arg_INCLUDES PREPEND "${KERNEL_SOURCE_ROOT}/")
  list(TRANSFORM arg_DEFINES PREPEND "-D")
  hip_cross_sources(
    ${KERNEL_OPS_NAME}
    ID "${KERNEL_OPS_NAME}"
    ARCHS ${arg_ARCHS}
    SOURCES ${arg_SOURCES}
    INCLUDES ${arg_INCLUDES}
    # The author decides which warnings are errors: with hip-flags = ["-Werror"].
    FLAGS -Wno-error ${KERNEL_PREFIX_MAPS} ${arg_DEFINES} "-DTORCH_EXTENSION_NAME=${KERNEL_OPS_NAME}"
          -fvisibility=hidden ${arg_CXX_FLAGS} ${arg_DEVICE_FLAGS})
endfunction()
