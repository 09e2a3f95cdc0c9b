# Compile HIP for AMD GPUs without a ROCm SDK.
#
#   include(cmake/hip_cross.cmake)
#   hip_cross_sources(<target>
#     ID <text>              names this build; part of the symbols, so unique and stable
#     ARCHS gfx942 ...       as written in build.toml
#     SOURCES a.hip ...      each becomes one object of <target>, with the code of all ARCHS inside
#     [INCLUDES dir ...]     searched with warnings on
#     [SYSTEM_INCLUDES dir ...]
#     [FLAGS flag ...])      for device and host part, after our own
#
# Cache variables:
#   HIP_CROSS_COMPILER       the clang to use, a command as a list: "/path/clang++-19" or
#                            "/path/zig;clang". Empty: clang 19 or later on PATH if it can target all
#                            ARCHS, else the clang in the Python package ziglang.
#   HIP_CROSS_ROCM_VERSION   the ROCm whose libamdhip64 the result is for, "7.1"; the major number
#                            decides the soname.
#   HIP_CROSS_HEADERS        the folder with hip/hip_runtime.h; beside this file by default.
#   HIP_CROSS_ROCM_ROOT      a ROCm SDK: its headers, device libraries and runtime are used, not ours.
#                            HIP_CROSS_COMPILER must be its clang, HIP_CROSS_ROCM_VERSION its version.
# Python3_EXECUTABLE, if set, is the Python that runs hip_bundle.py and knows ziglang.
#
# The target is linked against a stub of libamdhip64, which gives it the right DT_NEEDED and symbol
# versions. The stub is never shipped: the real library is on the machine with the GPU.
include_guard(GLOBAL)

set(HIP_CROSS_COMPILER "" CACHE STRING "clang >= 19 with the AMDGPU target, as a list")
set(HIP_CROSS_ROCM_VERSION "7.1" CACHE STRING "ROCm version that the kernel is for")
set(HIP_CROSS_HEADERS "${CMAKE_CURRENT_LIST_DIR}/hip-include" CACHE PATH "folder with hip/hip_runtime.h")
set(HIP_CROSS_ROCM_ROOT "" CACHE PATH "folder of a ROCm SDK to compile with")
if(HIP_CROSS_ROCM_ROOT)
  set(HIP_CROSS_HEADERS "${HIP_CROSS_ROCM_ROOT}/include")
endif()
set(HIP_CROSS_DIR "${CMAKE_CURRENT_LIST_DIR}")
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Set <result> to the AMD architectures that the compiler can target; nothing when it has none.
function(_hip_cross_list_archs compiler result)
  execute_process(
    COMMAND ${compiler} --print-supported-cpus --target=amdgcn-amd-amdhsa -nogpulib
    OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE status)
  string(REGEX MATCHALL "gfx[0-9a-z-]+" supported "${text}")
  set(${result} "${supported}" PARENT_SCOPE)
endfunction()

# Set <result> to the compiler command for <archs>, or stop and say what to install.
function(_hip_cross_find_compiler archs result)
  if(HIP_CROSS_COMPILER)
    set(${result} "${HIP_CROSS_COMPILER}" PARENT_SCOPE)
    return()
  endif()
  find_program(HIP_CROSS_CLANG NAMES clang++-22 clang++-21 clang++-20 clang++-19)
  if(HIP_CROSS_CLANG)
    _hip_cross_list_archs("${HIP_CROSS_CLANG}" supported)
    string(REGEX REPLACE ":[^;]*" "" missing "${archs}")
    if(supported)
      list(REMOVE_ITEM missing ${supported})
    endif()
    if(NOT missing)
      set(${result} "${HIP_CROSS_CLANG}" PARENT_SCOPE)
      return()
    endif()
  endif()
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
      "import importlib.util as u; print(u.find_spec('ziglang').submodule_search_locations[0])"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status ERROR_QUIET)
  if(NOT status EQUAL 0 AND HIP_CROSS_CLANG)
    set(${result} "${HIP_CROSS_CLANG}" PARENT_SCOPE) # the check of its architectures says the rest
    return()
  endif()
  if(NOT status EQUAL 0)
    message(FATAL_ERROR
      "no compiler for AMD GPUs: neither clang 19 or later nor the Python package ziglang was found.\n"
      "  hint: pip install ziglang==0.17.1, or set HIP_CROSS_COMPILER")
  endif()
  set(${result} "${folder}/zig;clang" PARENT_SCOPE)
endfunction()

# Stop unless the compiler can target each architecture.
function(_hip_cross_check_archs compiler archs)
  _hip_cross_list_archs("${compiler}" supported)
  if(NOT supported)
    message(FATAL_ERROR "${compiler} cannot compile for AMD GPUs")
  endif()
  foreach(arch IN LISTS archs)
    string(REGEX REPLACE ":.*" "" name "${arch}")
    if(NOT name IN_LIST supported)
      string(REPLACE ";" " " supported "${supported}")
      message(FATAL_ERROR
        "'${arch}' is not an architecture that ${compiler} can target.\n"
        "  hint: one of ${supported}")
    endif()
  endforeach()
endfunction()

# Set <flags> to what makes the compiler complete: where zig's clang is used, its own headers
# between those of the host's C++ library, and a linker for device code.
function(_hip_cross_platform_flags compiler flags)
  list(LENGTH compiler length)
  if(length EQUAL 1)
    set(${flags} "" PARENT_SCOPE)
    return()
  endif()
  list(GET compiler 0 zig)
  get_filename_component(zig_dir "${zig}" DIRECTORY)
  # clang runs "lld -flavor gnu ..."; zig has the same linker under another name.
  set(linker "${CMAKE_BINARY_DIR}/hip_cross/bin/lld")
  file(WRITE "${linker}.in" "#!/bin/sh\nshift 2\nexec '${zig}' ld.lld \"$@\"\n")
  file(CHMOD "${linker}.in" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  file(RENAME "${linker}.in" "${linker}")
  set(found "--target=${CMAKE_SYSTEM_PROCESSOR}-linux-gnu" "-B${CMAKE_BINARY_DIR}/hip_cross/bin" -nostdinc)
  set(is_clang_placed FALSE)
  foreach(folder IN LISTS CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    if(folder MATCHES "/lib/(gcc|clang)/[^+]*/include(-fixed)?$" OR (NOT folder MATCHES "c[+][+]" AND NOT is_clang_placed))
      if(NOT is_clang_placed)
        list(APPEND found -isystem "${zig_dir}/lib/include")
        set(is_clang_placed TRUE)
      endif()
      if(folder MATCHES "/lib/(gcc|clang)/")
        continue()
      endif()
    endif()
    list(APPEND found -isystem "${folder}")
  endforeach()
  set(${flags} "${found}" PARENT_SCOPE)
endfunction()

# Link <target> against the stub of the HIP runtime.
function(_hip_cross_link_runtime target)
  string(REGEX REPLACE "[.].*" "" major "${HIP_CROSS_ROCM_VERSION}")
  if(NOT major MATCHES "^[67]$")
    message(FATAL_ERROR
      "HIP_CROSS_ROCM_VERSION is '${HIP_CROSS_ROCM_VERSION}': only ROCm 6 and 7 are known")
  endif()
  if(HIP_CROSS_ROCM_ROOT AND NOT TARGET hip_cross_runtime)
    add_library(hip_cross_runtime SHARED IMPORTED GLOBAL)
    set_target_properties(hip_cross_runtime PROPERTIES
      IMPORTED_LOCATION "${HIP_CROSS_ROCM_ROOT}/lib/libamdhip64.so")
  endif()
  if(NOT TARGET hip_cross_runtime)
    add_library(hip_cross_runtime SHARED "${HIP_CROSS_DIR}/hip_stub.cpp")
    set_target_properties(hip_cross_runtime PROPERTIES
      OUTPUT_NAME amdhip64 SOVERSION ${major} LINK_DEPENDS "${HIP_CROSS_DIR}/hip_stub.map"
      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/hip_cross/lib")
    target_link_options(hip_cross_runtime PRIVATE
      -nostdlib "LINKER:--version-script=${HIP_CROSS_DIR}/hip_stub.map")
  endif()
  target_link_libraries(${target} PRIVATE hip_cross_runtime)
  # The search path of the build tree must not end up in what is shipped.
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endfunction()

function(hip_cross_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ID" "ARCHS;SOURCES;INCLUDES;SYSTEM_INCLUDES;FLAGS")
  foreach(name IN ITEMS ID ARCHS SOURCES)
    if(NOT arg_${name})
      message(FATAL_ERROR "hip_cross_sources(${target}): ${name} is missing")
    endif()
  endforeach()
  _hip_cross_find_compiler("${arg_ARCHS}" compiler)
  _hip_cross_check_archs("${compiler}" "${arg_ARCHS}")
  _hip_cross_platform_flags("${compiler}" platform_flags)
  set(way "cross-compiled for ROCm ${HIP_CROSS_ROCM_VERSION}")
  if(HIP_CROSS_ROCM_ROOT)
    set(way "with the ROCm ${HIP_CROSS_ROCM_VERSION} in ${HIP_CROSS_ROCM_ROOT}")
  endif()
  message(STATUS "HIP for ${arg_ARCHS}: ${compiler}, ${way}")

  string(REPLACE "." ";" version "${HIP_CROSS_ROCM_VERSION}.0")
  list(GET version 0 major)
  list(GET version 1 minor)
  set(includes "")
  foreach(folder IN LISTS arg_INCLUDES)
    get_filename_component(folder "${folder}" ABSOLUTE)
    list(APPEND includes -I "${folder}")
  endforeach()
  list(APPEND includes -isystem "${HIP_CROSS_HEADERS}")
  foreach(folder IN LISTS arg_SYSTEM_INCLUDES)
    get_filename_component(folder "${folder}" ABSOLUTE)
    list(APPEND includes -isystem "${folder}")
  endforeach()
  set(sdk -nogpulib -nogpuinc -DHIP_VERSION_MAJOR=${major} -DHIP_VERSION_MINOR=${minor})
  if(HIP_CROSS_ROCM_ROOT)
    set(sdk "--rocm-path=${HIP_CROSS_ROCM_ROOT}")
  endif()
  set(common ${compiler} -x hip ${platform_flags} ${sdk} -O3 -std=c++17 -fPIC
    -Wall -Wextra -Werror -D__HIP_PLATFORM_AMD__=1 -DUSE_ROCM=1
    # No path of this machine in the result: the same source gives the same bytes anywhere.
    "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=." "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build"
    ${includes})
  foreach(source IN LISTS arg_SOURCES)
    _hip_cross_source(${target} "${source}")
  endforeach()
  # For the target's other sources, which the host's compiler takes.
  target_include_directories(${target} SYSTEM PRIVATE "${HIP_CROSS_HEADERS}")
  target_compile_definitions(${target} PRIVATE __HIP_PLATFORM_AMD__=1 USE_ROCM=1)
  _hip_cross_link_runtime(${target})
endfunction()

# Device code for each architecture, a bundle of it, and the host code around that. Reads the
# variables of hip_cross_sources.
function(_hip_cross_source target source)
  get_filename_component(path "${source}" ABSOLUTE)
  cmake_path(IS_PREFIX CMAKE_CURRENT_BINARY_DIR "${path}" is_made) # a name that no folder's place changes
  if(is_made)
    file(RELATIVE_PATH name "${CMAKE_CURRENT_BINARY_DIR}" "${path}")
  else()
    file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${path}")
  endif()
  string(REPLACE "../" "_/" name "${name}")
  set(stem "${CMAKE_CURRENT_BINARY_DIR}/hip_cross/${target}/${name}")
  get_filename_component(folder "${stem}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  string(SHA256 cuid "${arg_ID} ${name}")
  string(SUBSTRING "${cuid}" 0 16 cuid)

  set(codes "")
  set(bundle_arguments "")
  foreach(arch IN LISTS arg_ARCHS)
    string(REPLACE ":" "_" suffix "${arch}")
    set(code "${stem}.${suffix}.co")
    add_custom_command(OUTPUT "${code}"
      # For device code clang's driver writes no dependency file, so its compiler proper is asked.
      COMMAND ${common} --offload-device-only --no-gpu-bundle-output --offload-arch=${arch}
        -mcode-object-version=5 -cuid=${cuid} ${arg_FLAGS}
        -Xclang -dependency-file -Xclang "${code}.d" -Xclang -MT -Xclang "${code}"
        -c "${path}" -o "${code}"
      DEPENDS "${path}" DEPFILE "${code}.d" VERBATIM
      COMMENT "Compiling ${name} for ${arch}")
    list(APPEND codes "${code}")
    list(APPEND bundle_arguments "${arch}=${code}")
  endforeach()
  add_custom_command(OUTPUT "${stem}.hipfb"
    COMMAND "${Python3_EXECUTABLE}" "${HIP_CROSS_DIR}/hip_bundle.py" "${stem}.hipfb" ${bundle_arguments}
    DEPENDS ${codes} "${HIP_CROSS_DIR}/hip_bundle.py" VERBATIM
    COMMENT "Bundling ${name}")
  add_custom_command(OUTPUT "${stem}.o"
    COMMAND ${common} --offload-host-only -cuid=${cuid} ${arg_FLAGS}
      -Xclang -fcuda-include-gpubinary -Xclang "${stem}.hipfb"
      -MD -MF "${stem}.o.d" -MT "${stem}.o" -c "${path}" -o "${stem}.o"
    DEPENDS "${path}" "${stem}.hipfb" DEPFILE "${stem}.o.d" VERBATIM
    COMMENT "Compiling the host part of ${name}")
  target_sources(${target} PRIVATE "${stem}.o")
  set_source_files_properties("${stem}.o" TARGET_DIRECTORY ${target}
    PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()
