# Builds for NVIDIA GPUs.
#   kernel_device_component(NAME ...)   the device sources of one [kernel.NAME], for its capabilities
#
# Cache variables; without the first, cuda_facts.py looks for a toolkit of KERNEL_CUDA_VERSION:
#   KERNEL_CUDA_ROOT       its folder
#   KERNEL_CUDA_COMPILER   its nvcc, or a clang++
#   KERNEL_CUDA_INCLUDE    folders of headers, for the C++ sources too
#   KERNEL_CUDA_LIBRARIES  folders of headers of what kernels depend on, such as CUTLASS
#   KERNEL_CUDA_RUNTIME    the libcudart to link, which torch has loaded when the kernel runs
#   KERNEL_CUDA_THREADS    how many architectures of each source are compiled at once; the variable
#                          NVCC_THREADS, also of the environment, comes first
set(KERNEL_CUDA_ROOT "" CACHE PATH "The folder of a CUDA toolkit")
set(KERNEL_CUDA_LIBRARIES "" CACHE STRING "Folders of headers of what the kernels depend on")
set(NVCC_THREADS "$ENV{NVCC_THREADS}" CACHE STRING "How many architectures nvcc compiles at once")
set(KERNEL_CUDA_THREADS 1 CACHE STRING "How many architectures nvcc compiles at once by default")
if(NOT CMAKE_CUDA_COMPILER_LAUNCHER AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()
if(NOT Python3_EXECUTABLE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

if(NOT KERNEL_CUDA_ROOT)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_LIST_DIR}/cuda_facts.py"
    OUTPUT_VARIABLE cuda_facts COMMAND_ERROR_IS_FATAL ANY)
  string(JSON count LENGTH "${cuda_facts}" places)
  math(EXPR last "${count} - 1")
  set(tried "")
  foreach(index RANGE ${last})
    foreach(fact IN ITEMS source root problem)
      string(JSON cuda_${fact} GET "${cuda_facts}" places ${index} ${fact})
    endforeach()
    if(NOT cuda_problem)
      string(JSON cuda_release GET "${cuda_facts}" places ${index} release)
      string(JSON cuda_compiler GET "${cuda_facts}" places ${index} compiler)
      if(NOT cuda_compiler)
        set(cuda_problem "has no nvcc")
      elseif(NOT cuda_release VERSION_EQUAL KERNEL_CUDA_VERSION)
        set(cuda_problem "is CUDA ${cuda_release}")
      endif()
    endif()
    if(NOT cuda_problem)
      set(KERNEL_CUDA_ROOT "${cuda_root}")
      set(KERNEL_CUDA_COMPILER "${cuda_compiler}")
      string(JSON KERNEL_CUDA_RUNTIME GET "${cuda_facts}" places ${index} runtime)
      string(JSON cuda_include GET "${cuda_facts}" places ${index} include)
      string(JSON length LENGTH "${cuda_include}")
      math(EXPR length "${length} - 1")
      set(KERNEL_CUDA_INCLUDE "")
      foreach(item RANGE ${length})
        string(JSON folder GET "${cuda_include}" ${item})
        list(APPEND KERNEL_CUDA_INCLUDE "${folder}")
      endforeach()
      break()
    endif()
    string(APPEND tried "\n  ${cuda_source} ${cuda_root}: ${cuda_problem}")
  endforeach()
  if(NOT KERNEL_CUDA_ROOT)
    message(FATAL_ERROR "this project was made for CUDA ${KERNEL_CUDA_VERSION}, and no toolkit of it was "
                        "found; tried:${tried}\nset CUDA_HOME, or make it again for another: "
                        "`kernel-builder create-pyproject --force`")
  endif()
endif()
message(STATUS "CUDA ${KERNEL_CUDA_VERSION}: ${KERNEL_CUDA_COMPILER}, in ${KERNEL_CUDA_ROOT}")

# nvcc finds its own headers first; those of the libraries come after.
set(KERNEL_CUDA_SYSTEM ${torch_include_0} ${torch_include_1} ${torch_python_include})
if(KERNEL_SDK STREQUAL "tvm_ffi_sdk")
  set(KERNEL_CUDA_SYSTEM "${tvm_ffi_include}")
endif()
list(APPEND KERNEL_CUDA_SYSTEM ${KERNEL_CUDA_LIBRARIES} ${KERNEL_CUDA_INCLUDE})
target_include_directories(
  ${KERNEL_SDK} SYSTEM INTERFACE ${KERNEL_CUDA_LIBRARIES} ${KERNEL_CUDA_INCLUDE})

# The runtime is linked by its path and found by its name: torch has loaded it.
add_library(kernel_cudart SHARED IMPORTED)
set_target_properties(kernel_cudart PROPERTIES IMPORTED_LOCATION "${KERNEL_CUDA_RUNTIME}")
target_link_libraries(${KERNEL_SDK} INTERFACE kernel_cudart)
if(KERNEL_SDK STREQUAL "torch_sdk")
  if(EXISTS "${torch_lib}/libtorch_cuda.so")
    target_link_libraries(
      torch_sdk INTERFACE "${torch_lib}/libc10_cuda.so" "${torch_lib}/libtorch_cuda.so")
  else()
    # The stable interface to streams is in a library that this build of torch lacks: asked for by name.
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/empty.cpp" CONTENT "")
    add_library(torch_cuda SHARED "${CMAKE_BINARY_DIR}/empty.cpp")
    set_target_properties(torch_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/torch-cuda")
    target_link_options(torch_cuda PRIVATE -nostdlib)
    target_link_options(
      torch_sdk INTERFACE "LINKER:--push-state,--no-as-needed" "$<TARGET_FILE:torch_cuda>"
                          "LINKER:--pop-state")
    set(KERNEL_CUDA_DEPENDS torch_cuda)
  endif()
endif()

# Sets <result> to the compiler's flags for capabilities as build.toml writes them: 9.0a, 12.0+PTX.
function(kernel_cuda_arch_flags result is_clang)
  set(flags "")
  foreach(arch IN LISTS ARGN)
    string(REPLACE "+PTX" "" plain "${arch}")
    string(REPLACE "." "" number "${plain}")
    if(is_clang)
      list(APPEND flags "--cuda-gpu-arch=sm_${number}")
    else()
      list(APPEND flags "-gencode=arch=compute_${number},code=sm_${number}")
    endif()
    if(NOT plain STREQUAL arch)
      if(is_clang)
        list(APPEND flags "--cuda-include-ptx=sm_${number}")
      else()
        list(APPEND flags "-gencode=arch=compute_${number},code=compute_${number}")
      endif()
    endif()
  endforeach()
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()

# Sets <result> to the whole command before the source, for nvcc.
function(kernel_cuda_nvcc result identity)
  set(threads "${NVCC_THREADS}")
  if(NOT threads)
    set(threads "${KERNEL_CUDA_THREADS}")
  endif()
  kernel_cuda_arch_flags(archs FALSE ${arg_ARCHS})
  set(host -fPIC -fvisibility=hidden ${KERNEL_PREFIX_MAPS})
  list(TRANSFORM host PREPEND "-Xcompiler=")
  # Without these, names in the object are made of the source's path, the process's number and the time.
  set(same -objtemp "-frandom-seed=${identity}" -Xcudafe "--orig_src_path_name=${identity}")
  set(${result}
      ${CMAKE_CUDA_COMPILER_LAUNCHER} "${KERNEL_CUDA_COMPILER}" -c -O3 -std=c++20 -DNDEBUG
      "-ccbin=${CMAKE_CXX_COMPILER}" "--threads=${threads}" --expt-relaxed-constexpr ${archs} ${same}
      ${host}
      PARENT_SCOPE)
endfunction()

function(kernel_cuda_clang result identity)
  kernel_cuda_arch_flags(archs TRUE ${arg_ARCHS})
  set(${result}
      "${KERNEL_CUDA_COMPILER}" -x cuda -c -O3 -std=c++20 -DNDEBUG "--cuda-path=${KERNEL_CUDA_ROOT}"
      --no-cuda-include-ptx=all ${archs} "-cuid=${identity}" -Wno-unknown-cuda-version -fPIC
      -fvisibility=hidden ${KERNEL_PREFIX_MAPS}
      PARENT_SCOPE)
endfunction()

function(kernel_device_component name)
  cmake_parse_arguments(
    PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES;DEFINES;CXX_FLAGS;DEVICE_FLAGS;ARCHS")
  list(TRANSFORM arg_INCLUDES PREPEND "${KERNEL_SOURCE_ROOT}/")
  list(APPEND arg_INCLUDES "${CMAKE_SOURCE_DIR}/torch-ext")
  list(TRANSFORM arg_INCLUDES PREPEND "-I")
  list(TRANSFORM arg_DEFINES PREPEND "-D")
  list(TRANSFORM KERNEL_SDK_DEFINES PREPEND "-D" OUTPUT_VARIABLE sdk_defines)
  set(system "")
  foreach(folder IN LISTS KERNEL_CUDA_SYSTEM)
    list(APPEND system -isystem "${folder}")
  endforeach()
  foreach(source IN LISTS arg_SOURCES)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}/${source}.o")
    get_filename_component(folder "${object}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    string(SHA256 identity "${KERNEL_OPS_NAME} ${name} ${source}")
    string(SUBSTRING "${identity}" 0 16 identity)
    if(KERNEL_CUDA_COMPILER MATCHES "clang")
      kernel_cuda_clang(command ${identity})
    else()
      kernel_cuda_nvcc(command ${identity})
    endif()
    list(JOIN arg_ARCHS ", " archs)
    add_custom_command(
      OUTPUT "${object}"
      COMMAND
        ${command} ${arg_DEFINES} ${sdk_defines} "-D${KERNEL_SDK_NAME_MACRO}=${KERNEL_OPS_NAME}"
        ${arg_INCLUDES} ${system} ${arg_DEVICE_FLAGS} -MD -MT "${object}" -MF "${object}.d"
        "${KERNEL_SOURCE_ROOT}/${source}" -o "${object}"
      DEPENDS "${KERNEL_SOURCE_ROOT}/${source}" DEPFILE "${object}.d" VERBATIM
      COMMENT "Compiling ${source}")
    target_sources(${KERNEL_OPS_NAME} PRIVATE "${object}")
    set_source_files_properties(
      "${object}" TARGET_DIRECTORY ${KERNEL_OPS_NAME} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  endforeach()
  if(KERNEL_CUDA_DEPENDS)
    add_dependencies(${KERNEL_OPS_NAME} ${KERNEL_CUDA_DEPENDS})
  endif()
endfunction()
