from __future__ import annotations

import pytest

from kernelmill.builder.hip.diagnosis import explain_failure
from kernelmill.builder.hip.project import header_names

HEADER_HINT = "  hint: a ROCm SDK brings it: set ROCM_PATH; without one there are " + ", ".join(
    header_names()
)


@pytest.mark.parametrize(
    ("stderr", "text"),
    [
        pytest.param(
            "[1/3] Compiling\n./src/k.hip:3:10: fatal error: 'hip/hip_complex.h' file not found\n",
            "./src/k.hip:3: 'hip/hip_complex.h' is not among the HIP headers that this build"
            f" compiles against\n{HEADER_HINT}",
            id="clang-header",
        ),
        pytest.param(
            "In file included from b.cpp:1:\n"
            "/t/c10/HIPBlas.h:7:10: fatal error: rocblas/rocblas.h: No such file or directory\n",
            "/t/c10/HIPBlas.h:7: 'rocblas/rocblas.h' is not among the HIP headers that this build"
            f" compiles against\n{HEADER_HINT}",
            id="gcc-header",
        ),
        pytest.param(
            "k.hip:8:3: error: use of undeclared identifier 'hipModuleLoad'\n"
            "k.hip:9:3: error: use of undeclared identifier 'hipModuleLoad'\n"
            "k.h:4:3: error: unknown type name 'hipModule_t'\n",
            "k.hip:8: not among the HIP names that this build compiles against: 'hipModuleLoad'"
            " (k.hip:8), 'hipModule_t' (k.h:4)\n"
            "  hint: a ROCm SDK brings it: set ROCM_PATH; docs/rocm.md lists what there is without"
            " one",
            id="names",
        ),
        pytest.param(
            "a/k.cu:3: error: 'cudaFoo' has no counterpart in HIP\n"
            "a/k.cu:9: error: 'mma.h' has no counterpart in HIP\nCMake Error at x:1\n",
            "a/k.cu:3: CUDA that has no counterpart in HIP: 'cudaFoo' (a/k.cu:3), 'mma.h'"
            " (a/k.cu:9)\n"
            "  hint: write it for HIP too, between #if defined(USE_ROCM) and #else",
            id="c4-cuda",
        ),
        pytest.param(
            "zig: error: unsupported HIP gpu architecture: gfx9999\n",
            "'gfx9999' is not an architecture that the compiler can target\n"
            "  hint: correct rocm-archs in build.toml, or install a newer compiler",
            id="arch",
        ),
        pytest.param(
            "clang++-19: error: invalid target ID 'gfx950'; format is a processor name\n",
            "'gfx950' is not an architecture that the compiler can target\n"
            "  hint: correct rocm-archs in build.toml, or install a newer compiler",
            id="target-id",
        ),
    ],
)
def test_failure_is_one_line_when_it_is_about_hip(stderr: str, text: str) -> None:
    assert str(explain_failure(stderr)) == text


@pytest.mark.parametrize(
    "stderr",
    [
        pytest.param("k.hip:3:10: fatal error: 'my/own.h' file not found\n", id="own-header"),
        pytest.param("k.hip:3:10: fatal error: 'hipster.h' file not found\n", id="similar-name"),
        pytest.param("k.hip:4:1: error: use of undeclared identifier 'total'\n", id="own-name"),
        pytest.param("", id="nothing"),
    ],
)
def test_failure_is_left_alone_when_it_is_the_authors(stderr: str) -> None:
    assert explain_failure(stderr) is None
