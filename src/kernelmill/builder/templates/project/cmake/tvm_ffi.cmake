# The installed apache-tvm-ffi as the target `tvm_ffi_sdk`, and TVM_FFI_VERSION ("0.1").
if(NOT Python3_EXECUTABLE) # looking for one that is known takes a second
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
execute_process(
  COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/tvm_ffi_facts.py"
  OUTPUT_VARIABLE tvm_ffi_facts
  COMMAND_ERROR_IS_FATAL ANY)

string(JSON tvm_ffi_error ERROR_VARIABLE has_no_error GET "${tvm_ffi_facts}" error)
if(NOT has_no_error)
  message(FATAL_ERROR "${tvm_ffi_error}: pip install apache-tvm-ffi")
endif()
foreach(fact IN ITEMS version include library)
  string(JSON tvm_ffi_${fact} GET "${tvm_ffi_facts}" ${fact})
endforeach()
string(REGEX MATCH "^[0-9]+\\.[0-9]+" TVM_FFI_VERSION "${tvm_ffi_version}")

add_library(tvm_ffi_sdk INTERFACE)
target_include_directories(tvm_ffi_sdk SYSTEM INTERFACE "${tvm_ffi_include}")
target_link_libraries(tvm_ffi_sdk INTERFACE "${tvm_ffi_library}")

set(KERNEL_SDK tvm_ffi_sdk)
set(KERNEL_SDK_NAME_MACRO TVM_FFI_EXTENSION_NAME)
set(KERNEL_SDK_SUFFIX ".so")
set(KERNEL_SDK_PACKAGES tvm-ffi-ext)
set(KERNEL_SDK_PREFIX_MAPS "-ffile-prefix-map=${tvm_ffi_include}/=tvm-ffi/include/")

function(kernel_require_tvm_ffi version)
  if(NOT TVM_FFI_VERSION VERSION_EQUAL version)
    message(FATAL_ERROR "this project was made for TVM FFI ${version}, found ${TVM_FFI_VERSION}: run "
                        "`kernel-builder create-pyproject --force` again")
  endif()
endfunction()
