"""Compile HIP for AMD GPUs on a machine that may have neither an AMD GPU nor ROCm.

``probe`` finds the compilers, ``toolchain`` chooses among them, and ``project`` gives the files
that a generated project carries (all below ``cmake/``). With these, plain CMake does the rest, with
no part of kernelmill installed::

    include(cmake/hip_cross.cmake)
    add_library(_gemm_rocm_0a1b2c3d4e MODULE torch-ext/torch_binding.cpp)
    hip_cross_sources(_gemm_rocm_0a1b2c3d4e ID _gemm_rocm_0a1b2c3d4e ARCHS gfx942
      SOURCES gemm/gemm.hip INCLUDES gemm FLAGS -DX=1)

Variables: ``HIP_CROSS_COMPILER``, ``HIP_CROSS_ROCM_VERSION``, ``HIP_CROSS_HEADERS``,
``Python3_EXECUTABLE``; all have defaults. The project's language is CXX, its CMake at least 3.26,
its generator Ninja. A source of the target that another compiler takes (the binding) finds
``hip/hip_runtime.h`` too: the folder is added to the target. Where a ROCm SDK is installed its
clang is used, still with our headers and our stub of the runtime.

``diagnosis.explain_failure`` makes one line of a compiler's complaint.
"""
