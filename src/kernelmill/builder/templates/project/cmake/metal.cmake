# Builds for Apple GPUs.
#   kernel_device_component(NAME ...)   the .metal and .mm sources of one [kernel.NAME]
# The shaders become one Metal library, which is compiled in: a source that includes
# EMBEDDED_METALLIB_HEADER has its bytes as EMBEDDED_METALLIB_NAMESPACE::metallib_data, and their
# number as metallib_size.
if(NOT APPLE)
  message(FATAL_ERROR "kernels for Metal are built on macOS, with Xcode: `xcrun -find metal`")
endif()
execute_process(COMMAND xcrun -sdk macosx -find metal RESULT_VARIABLE has_no_metal OUTPUT_QUIET ERROR_QUIET)
if(has_no_metal)
  message(FATAL_ERROR "`xcrun -find metal` finds no compiler: install Xcode's Metal toolchain")
endif()
target_link_libraries(${KERNEL_SDK} INTERFACE "-framework Metal" "-framework Foundation")

function(kernel_device_component name)
  cmake_parse_arguments(
    PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES;DEFINES;CXX_FLAGS;DEVICE_FLAGS;ARCHS")
  set(shaders ${arg_SOURCES})
  list(FILTER shaders INCLUDE REGEX "\\.metal$")
  set(host ${arg_SOURCES})
  list(FILTER host INCLUDE REGEX "\\.mm$")
  set(folder "${CMAKE_BINARY_DIR}/metal/${name}")
  set(header "${folder}/metallib.h")
  set(objects)
  foreach(shader IN LISTS shaders)
    set(object "${folder}/${shader}.air")
    get_filename_component(object_folder "${object}" DIRECTORY)
    file(MAKE_DIRECTORY "${object_folder}")
    set(includes ${arg_INCLUDES})
    list(TRANSFORM includes PREPEND "-I${KERNEL_ROOT}/")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND xcrun -sdk macosx metal -c "${KERNEL_ROOT}/${shader}" ${includes} -o "${object}"
      DEPENDS "${KERNEL_ROOT}/${shader}" VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  if(objects)
    add_custom_command(
      OUTPUT "${header}"
      COMMAND xcrun -sdk macosx metallib ${objects} -o "${folder}/kernel.metallib"
      COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/cmake/metallib_to_header.py"
              "${folder}/kernel.metallib" "${header}"
      DEPENDS ${objects} VERBATIM)
    add_custom_target(metallib_${name} DEPENDS "${header}")
    target_compile_definitions(
      ${KERNEL_OPS_NAME} PRIVATE "EMBEDDED_METALLIB_HEADER=\"${header}\""
                                 "EMBEDDED_METALLIB_NAMESPACE=${KERNEL_OPS_NAME}_metal")
    add_dependencies(${KERNEL_OPS_NAME} metallib_${name})
  endif()
  if(host)
    kernel_component(
      ${name}_host SOURCES ${host} INCLUDES ${arg_INCLUDES} CXX_FLAGS ${arg_CXX_FLAGS}
      DEFINES ${arg_DEFINES} "EMBEDDED_METALLIB_HEADER=\"${header}\""
              "EMBEDDED_METALLIB_NAMESPACE=${KERNEL_OPS_NAME}_metal")
    if(objects)
      add_dependencies(kernel_${name}_host metallib_${name})
    endif()
  endif()
endfunction()
