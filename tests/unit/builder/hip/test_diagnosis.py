from __future__ import annotations

import pytest

from kernelmill.builder.hip.diagnosis import explain_failure


@pytest.mark.parametrize(
    ("stderr", "text"),
    [
        pytest.param(
            "[1/3] Compiling\n./src/k.hip:3:10: fatal error: 'hip/hip_fp16.h' file not found\n",
            "./src/k.hip:3: 'hip/hip_fp16.h' is part of a ROCm SDK, which is not used: this version"
            " compiles against its own HIP headers only, with or without a ROCm SDK\n"
            "  hint: remove the include; there are hip/hip_bf16.h, hip/hip_runtime.h,"
            " hip/hip_runtime_api.h",
            id="clang-header",
        ),
        pytest.param(
            "In file included from b.cpp:1:\n"
            "/t/c10/HIPBlas.h:7:10: fatal error: rocblas/rocblas.h: No such file or directory\n",
            "/t/c10/HIPBlas.h:7: 'rocblas/rocblas.h' is part of a ROCm SDK, which is not used: this"
            " version compiles against its own HIP headers only, with or without a ROCm SDK\n"
            "  hint: remove the include; there are hip/hip_bf16.h, hip/hip_runtime.h,"
            " hip/hip_runtime_api.h",
            id="gcc-header",
        ),
        pytest.param(
            "k.hip:8:3: error: use of undeclared identifier 'hipModuleLoad'\n",
            "k.hip:8: 'hipModuleLoad' is not among the HIP names that there are: this version"
            " compiles against its own HIP headers only, with or without a ROCm SDK\n"
            "  hint: remove the use of it; the beginning of hip/hip_runtime.h lists the names",
            id="name",
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
