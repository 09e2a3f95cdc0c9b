"""Compile HIP for AMD GPUs on a machine that may have neither an AMD GPU nor ROCm.

How a build uses it::

    trials = probe.probe_hip_compilers(environ=os.environ, package_folders=sys.path)
    chosen = toolchain.require(trials)                  # or choose(trials) and print the trials
    faults = chosen.check_archs(("gfx942",), where="build.toml:12 kernel.gemm.rocm-archs")
    files = project.recipe_files()                      # path -> text, into the generated project
    variables = chosen.cmake_variables(rocm=(7, 1), python=sys.executable)

``chosen`` is a ``HipToolchain``: ``kind`` (``rocm``, ``clang``, ``zig``), ``command``,
``version_text``, ``rocm_root`` (``None`` when cross-compiling), ``archs``, ``is_cross``. The files and
variables are for cross-compilation; with a ROCm SDK, CMake's own HIP language does it.

The generated project then does by plain CMake, with no part of kernelmill installed::

    include(cmake/hip_cross.cmake)
    add_library(_gemm_rocm_0a1b2c3d4e MODULE torch-ext/torch_binding.cpp)
    hip_cross_sources(_gemm_rocm_0a1b2c3d4e ID _gemm_rocm_0a1b2c3d4e ARCHS gfx942
      SOURCES gemm/gemm.hip INCLUDES gemm FLAGS -DX=1)

Files: ``cmake/hip_cross.cmake``, ``cmake/hip_bundle.py``, ``cmake/hip_stub.cpp``,
``cmake/hip_stub.map``, ``cmake/hip-include/hip/*.h``. Variables: ``HIP_CROSS_COMPILER``,
``HIP_CROSS_ROCM_VERSION``, ``HIP_CROSS_HEADERS``, ``Python3_EXECUTABLE``; all have defaults. The
project's language is CXX, its CMake at least 3.26, its generator Ninja. A source of the target that
another compiler takes (the binding) finds ``hip/hip_runtime.h`` too: the folder is added to the
target. ``diagnosis.explain_failure`` makes one line of a compiler's complaint.
"""
