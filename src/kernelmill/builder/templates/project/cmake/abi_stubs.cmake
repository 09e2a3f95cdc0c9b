# With -DKERNEL_ABI_STUBS=FOLDER, the tree of the SDK abi-stubs: extensions are linked for an old glibc
# and libstdc++ (manylinux_2_28), whatever this machine has.
#   kernel_link_abi_stubs(TARGET)
# They come before torch, whose libraries offer some of the C++ library's symbols too. What a newer
# libstdc++ has is taken from the compiler's static one behind its stub, and hidden; exceptions and type
# information stay those of the process.
set(KERNEL_ABI_STUBS "" CACHE PATH "The tree of the SDK abi-stubs, or nothing")

function(kernel_link_abi_stubs target)
  if(NOT KERNEL_ABI_STUBS)
    return()
  endif()
  if(NOT EXISTS "${KERNEL_ABI_STUBS}/compat")
    message(FATAL_ERROR "no ABI stubs in ${KERNEL_ABI_STUBS}: run `kernel-builder sdk fetch abi-stubs-2.28`")
  endif()
  file(GLOB compat "${KERNEL_ABI_STUBS}/compat/*.cpp")
  add_library(kernel_compat STATIC ${compat})
  target_compile_options(kernel_compat PRIVATE "-ffile-prefix-map=${KERNEL_ABI_STUBS}/=abi-stubs/")
  add_dependencies(${target} kernel_compat)
  file(GLOB loader "${KERNEL_ABI_STUBS}/lib/ld-linux*")
  set(libraries "${KERNEL_ABI_STUBS}/lib/libstdc++.so.6" -l:libstdc++.a)
  foreach(name IN ITEMS libm.so.6 libgcc_s.so.1)
    list(APPEND libraries "${KERNEL_ABI_STUBS}/lib/${name}")
  endforeach()
  list(APPEND libraries -lgcc "$<TARGET_FILE:kernel_compat>")
  foreach(name IN ITEMS libc.so.6 libpthread.so.0 libdl.so.2 librt.so.1)
    list(APPEND libraries "${KERNEL_ABI_STUBS}/lib/${name}")
  endforeach()
  list(APPEND libraries "${loader}")
  target_link_options(${target} PRIVATE -nodefaultlibs -Wl,--exclude-libs,ALL -Wl,--as-needed)
  target_link_libraries(${target} PRIVATE kernel_abi_stubs)
  add_library(kernel_abi_stubs INTERFACE)
  target_link_libraries(kernel_abi_stubs INTERFACE ${libraries})
endfunction()
