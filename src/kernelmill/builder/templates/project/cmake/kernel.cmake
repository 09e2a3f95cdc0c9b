# What every build of a kernel has in common. What it is built against is said before, by torch.cmake
# or tvm_ffi.cmake: KERNEL_SDK (a target), KERNEL_SDK_DEFINES, _SUFFIX (of the module), _PACKAGES (the
# folder of the Python files), _NAME_MACRO (what sources call the module's name) and _PREFIX_MAPS.
#   kernel_select_backend(BACKEND...)   sets KERNEL_BACKEND, or stops
#   kernel_extension(...)               the Python extension: the binding's sources
#   kernel_component(NAME ...)          one [kernel.NAME] of build.toml, compiled with its own flags
#   kernel_install(...)                 targets `install` (PREFIX/VARIANT) and `local_install` (build/VARIANT)

include("${CMAKE_CURRENT_LIST_DIR}/abi_stubs.cmake")
get_filename_component(KERNEL_ROOT "${KERNEL_ROOT}" ABSOLUTE)
set(KERNEL_SOURCE_ROOT "${KERNEL_ROOT}") # a backend may put translated copies in the sources' place
set(CMAKE_CXX_STANDARD 20) # torch's own headers are C++20
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_SKIP_RPATH ON) # torch is already in the process when a kernel is loaded
if(APPLE)
  set(KERNEL_LINK_OPTIONS -Wl,-undefined,dynamic_lookup) # Python's functions are in the interpreter
else()
  set(KERNEL_LINK_OPTIONS -Wl,--as-needed)
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# No path of this machine gets into the binary: the same sources give the same bytes in any folder.
# The last match wins, and the kernel's folder may hold the others.
set(KERNEL_PREFIX_MAPS "-ffile-prefix-map=${KERNEL_ROOT}/=")
if(NOT CMAKE_SOURCE_DIR STREQUAL KERNEL_ROOT)
  list(APPEND KERNEL_PREFIX_MAPS "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
endif()
list(APPEND KERNEL_PREFIX_MAPS "-ffile-prefix-map=${CMAKE_BINARY_DIR}/=" ${KERNEL_SDK_PREFIX_MAPS})
# ccache gives the compiler relative paths, so that it finds its results from other folders too.
foreach(folder IN ITEMS "${KERNEL_ROOT}" "${CMAKE_SOURCE_DIR}")
  file(RELATIVE_PATH relative "${CMAKE_BINARY_DIR}" "${folder}")
  string(REGEX REPLACE "/+$" "" relative "${relative}")
  list(APPEND KERNEL_PREFIX_MAPS "-ffile-prefix-map=${relative}/=")
endforeach()
list(REMOVE_DUPLICATES KERNEL_PREFIX_MAPS)

function(kernel_select_backend)
  if(NOT KERNEL_BACKEND)
    if(torch_hip)
      set(KERNEL_BACKEND rocm)
    elseif(torch_cuda)
      set(KERNEL_BACKEND cuda)
    else()
      set(KERNEL_BACKEND cpu)
    endif()
  endif()
  if(NOT KERNEL_BACKEND IN_LIST ARGV)
    list(JOIN ARGV ", " choices)
    message(FATAL_ERROR "this project has no build for '${KERNEL_BACKEND}': pass "
                        "-DKERNEL_BACKEND=NAME, one of: ${choices}")
  endif()
  set(KERNEL_BACKEND "${KERNEL_BACKEND}" PARENT_SCOPE)
endfunction()

function(kernel_compile_settings target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "INCLUDES;CXX_FLAGS;DEFINES")
  list(TRANSFORM arg_INCLUDES PREPEND "${KERNEL_SOURCE_ROOT}/")
  target_include_directories(${target} PRIVATE ${arg_INCLUDES} "${CMAKE_SOURCE_DIR}/torch-ext")
  target_compile_definitions(
    ${target} PRIVATE ${arg_DEFINES} "${KERNEL_SDK_NAME_MACRO}=${KERNEL_OPS_NAME}"
                      ${KERNEL_SDK_DEFINES})
  target_compile_options(
    ${target} PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden
                      $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique> ${KERNEL_PREFIX_MAPS}
                      ${arg_CXX_FLAGS})
  target_link_libraries(${target} PRIVATE ${KERNEL_SDK})
endfunction()

function(kernel_extension)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SOURCES;INCLUDES;CXX_FLAGS;DEFINES")
  list(TRANSFORM arg_SOURCES PREPEND "${KERNEL_SOURCE_ROOT}/")
  add_library(${KERNEL_OPS_NAME} MODULE ${arg_SOURCES})
  set_target_properties(${KERNEL_OPS_NAME} PROPERTIES PREFIX "" SUFFIX "${KERNEL_SDK_SUFFIX}")
  kernel_link_abi_stubs(${KERNEL_OPS_NAME})
  kernel_compile_settings(
    ${KERNEL_OPS_NAME} INCLUDES ${arg_INCLUDES} CXX_FLAGS ${arg_CXX_FLAGS} DEFINES ${arg_DEFINES})
  # NOTE: sources compiled with -fopenmp find the OpenMP runtime that torch has loaded. Linking one
  # would bring a second one into the process wherever torch's has another name.
  target_link_options(${KERNEL_OPS_NAME} PRIVATE ${KERNEL_LINK_OPTIONS})
  if(COMMAND kernel_link_torch_hip)
    kernel_link_torch_hip(c10 c10_hip ${arg_SOURCES})
    kernel_link_torch_hip(ATen torch_hip ${arg_SOURCES})
  endif()
endfunction()

function(kernel_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES;CXX_FLAGS;DEFINES")
  list(TRANSFORM arg_SOURCES PREPEND "${KERNEL_SOURCE_ROOT}/")
  add_library(kernel_${name} OBJECT ${arg_SOURCES})
  kernel_compile_settings(
    kernel_${name} INCLUDES ${arg_INCLUDES} CXX_FLAGS ${arg_CXX_FLAGS} DEFINES ${arg_DEFINES})
  target_link_libraries(${KERNEL_OPS_NAME} PRIVATE kernel_${name})
endfunction()

function(kernel_install)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PYTHON;VARIANT" "PYEXT")
  configure_file("${CMAKE_SOURCE_DIR}/cmake/_ops.py.in" "${CMAKE_BINARY_DIR}/_ops.py" @ONLY)
  install(TARGETS ${KERNEL_OPS_NAME} LIBRARY DESTINATION "${arg_VARIANT}")
  install(FILES "${CMAKE_BINARY_DIR}/_ops.py" DESTINATION "${arg_VARIANT}")
  install(FILES "${CMAKE_SOURCE_DIR}/metadata-${KERNEL_BACKEND}.json" RENAME metadata.json
          DESTINATION "${arg_VARIANT}")
  list(TRANSFORM arg_PYEXT REPLACE "^" "*.")
  list(TRANSFORM arg_PYEXT PREPEND "PATTERN;" OUTPUT_VARIABLE patterns)
  install(DIRECTORY "${KERNEL_ROOT}/${KERNEL_SDK_PACKAGES}/${arg_PYTHON}/" DESTINATION "${arg_VARIANT}"
          FILES_MATCHING ${patterns} PATTERN "__pycache__" EXCLUDE
          # That of another build, which `pip install` leaves there.
          REGEX "/${arg_PYTHON}/_ops\\.py$" EXCLUDE)
  add_custom_target(
    local_install
    # An extension of an earlier build has another name: it would stay beside the new one.
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${KERNEL_ROOT}/build/${arg_VARIANT}"
    COMMAND "${CMAKE_COMMAND}" --install "${CMAKE_BINARY_DIR}" --prefix "${KERNEL_ROOT}/build"
    DEPENDS ${KERNEL_OPS_NAME} VERBATIM)
endfunction()
