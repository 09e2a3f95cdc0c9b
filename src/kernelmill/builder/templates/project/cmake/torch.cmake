# The installed torch as the target `torch_sdk`, and TORCH_VERSION ("2.13"). Or another one, without
# installing it: -DKERNEL_TORCH=FOLDER, the folder `tree/torch` of an SDK.
# NOTE: not find_package(Torch): for a GPU build of torch that asks for the whole GPU SDK, even when
# the kernel is built for the CPU.
set(KERNEL_TORCH "" CACHE PATH "The folder of a torch package to build against, in place of the installed one")
if(NOT Python3_EXECUTABLE) # looking for one that is known takes a second
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
execute_process(
  COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/torch_facts.py" ${KERNEL_TORCH}
  OUTPUT_VARIABLE torch_facts
  COMMAND_ERROR_IS_FATAL ANY)

string(JSON torch_error ERROR_VARIABLE has_no_error GET "${torch_facts}" error)
if(NOT has_no_error)
  message(FATAL_ERROR "${torch_error}")
endif()
foreach(fact IN ITEMS version cuda hip lib python_include)
  string(JSON torch_${fact} GET "${torch_facts}" ${fact})
endforeach()
string(JSON torch_include_0 GET "${torch_facts}" include 0)
string(JSON torch_include_1 GET "${torch_facts}" include 1)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" TORCH_VERSION "${torch_version}")

if(NOT EXISTS "${torch_python_include}/Python.h")
  message(FATAL_ERROR "no Python.h in ${torch_python_include}: install Python's development files")
endif()

add_library(torch_sdk INTERFACE)
target_include_directories(
  torch_sdk SYSTEM INTERFACE "${torch_include_0}" "${torch_include_1}" "${torch_python_include}")
target_link_libraries(
  torch_sdk INTERFACE "${torch_lib}/libtorch_cpu${CMAKE_SHARED_LIBRARY_SUFFIX}"
                      "${torch_lib}/libtorch${CMAKE_SHARED_LIBRARY_SUFFIX}"
                      "${torch_lib}/libc10${CMAKE_SHARED_LIBRARY_SUFFIX}")

set(KERNEL_SDK torch_sdk)
set(KERNEL_SDK_NAME_MACRO TORCH_EXTENSION_NAME)
set(KERNEL_SDK_DEFINES Py_LIMITED_API=0x03090000)
set(KERNEL_SDK_SUFFIX ".abi3.so")
set(KERNEL_SDK_PACKAGES torch-ext)
set(KERNEL_SDK_PREFIX_MAPS "-ffile-prefix-map=${torch_include_0}/=torch/include/"
                           "-ffile-prefix-map=${torch_python_include}/=python/")

function(kernel_require_torch version)
  if(NOT TORCH_VERSION VERSION_EQUAL version)
    message(FATAL_ERROR "this project was made for torch ${version}, found ${TORCH_VERSION}: run "
                        "`kernel-builder create-pyproject --force` again")
  endif()
endfunction()
