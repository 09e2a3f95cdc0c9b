# Builds for AMD GPUs.
#   kernel_translate(...)               CUDA sources: from here on, translated copies are compiled
#   kernel_device_component(NAME ...)   the device sources of one [kernel.NAME], for its architectures
include("${CMAKE_CURRENT_LIST_DIR}/hip_cross.cmake")

# The headers and libraries that only a ROCm build of torch brings; made here for any other build.
set(KERNEL_TORCH_INCLUDES "${torch_include_0}" "${torch_include_1}")
if(NOT EXISTS "${torch_include_0}/c10/hip/HIPStream.h")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_SOURCE_DIR}/cmake/hipify"
            --output "${CMAKE_BINARY_DIR}/torch-hip" --torch-include "${torch_include_0}"
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the headers of a ROCm build of torch cannot be made")
  endif()
  list(PREPEND KERNEL_TORCH_INCLUDES "${CMAKE_BINARY_DIR}/torch-hip" "${CMAKE_SOURCE_DIR}/cmake/hip-torch")
endif()

# The binding is compiled by the C++ compiler, against the same HIP headers.
target_include_directories(
  torch_sdk SYSTEM INTERFACE "${HIP_CROSS_HEADERS}" ${KERNEL_TORCH_INCLUDES})

# Links what sources that include torch's HIP headers need: by name only, where torch has no such
# library. `lib` is c10_hip or torch_hip.
function(kernel_link_torch_hip folder lib)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" found LIMIT_COUNT 1 REGEX "#[ \t]*include[ \t]*[<\"]${folder}/hip/")
    if(found)
      set(path "${torch_lib}/lib${lib}.so")
      if(NOT EXISTS "${path}")
        if(NOT TARGET ${lib})
          file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/empty.cpp" CONTENT "")
          add_library(${lib} SHARED "${CMAKE_BINARY_DIR}/empty.cpp")
          set_target_properties(${lib} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/torch-hip/lib")
          target_link_options(${lib} PRIVATE -nostdlib)
        endif()
        add_dependencies(${KERNEL_OPS_NAME} ${lib})
        set(path "${CMAKE_BINARY_DIR}/torch-hip/lib/lib${lib}.so")
      endif()
      target_link_options(
        ${KERNEL_OPS_NAME} PRIVATE "LINKER:--push-state,--no-as-needed" "${path}" "LINKER:--pop-state")
      return()
    endif()
  endforeach()
endfunction()

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
    SYSTEM_INCLUDES ${KERNEL_TORCH_INCLUDES}
    # The author decides which warnings are errors: with hip-flags = ["-Werror"].
    FLAGS -std=c++20 -Wno-error ${KERNEL_PREFIX_MAPS} ${arg_DEFINES} "-DTORCH_EXTENSION_NAME=${KERNEL_OPS_NAME}"
          -fvisibility=hidden ${arg_CXX_FLAGS} ${arg_DEVICE_FLAGS})
  kernel_link_torch_hip(c10 c10_hip ${arg_SOURCES})
  kernel_link_torch_hip(ATen torch_hip ${arg_SOURCES})
endfunction()
