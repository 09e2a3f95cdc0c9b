"""What nvcc, clang and the host's compiler print when a part of CUDA is missing, in one line."""

from __future__ import annotations

import pytest

from kernelmill.builder.cuda.diagnosis import explain_failure


@pytest.mark.parametrize(
    ("text", "problem", "where", "hint"),
    [
        pytest.param(
            "In file included from torch-ext/binding.cpp:1:\n"
            "/torch/include/ATen/cuda/CUDAContextLight.h:8:10: fatal error: cusparse.h: "
            "No such file or directory\n",
            "'cusparse.h' is a header of CUDA's libraries, which the CUDA toolkit of this build "
            "does not have",
            "/torch/include/ATen/cuda/CUDAContextLight.h:8",
            "kernel-builder sdk fetch cuda-math-13.0",
            id="gcc",
        ),
        pytest.param(
            "k.cu:3:10: fatal error: 'curand_kernel.h' file not found\n",
            "'curand_kernel.h' is a header of CUDA's libraries, which the CUDA toolkit of this "
            "build does not have",
            "k.cu:3",
            "kernel-builder sdk fetch cuda-math-13.0",
            id="clang",
        ),
        pytest.param(
            'k.cu(3): catastrophic error: cannot open source file "cublas_v2.h"\n',
            "'cublas_v2.h' is a header of CUDA's libraries, which the CUDA toolkit of this build "
            "does not have",
            "k.cu:3",
            "kernel-builder sdk fetch cuda-math-13.0",
            id="cudafe",
        ),
        pytest.param(
            "nvcc fatal   : Unsupported gpu architecture 'compute_70'\n",
            "the compiler cannot target '70'",
            "",
            "correct cuda-capabilities or cuda-flags in build.toml, or build for a newer CUDA",
            id="arch",
        ),
        pytest.param(
            "/cuda/include/crt/host_config.h:137:2: error: #error -- unsupported GNU version! gcc "
            "versions later than 15 are not supported! The nvcc flag can be used to override\n",
            "unsupported GNU version! gcc versions later than 15 are not supported",
            "",
            "set CXX to a compiler that it takes",
            id="host",
        ),
    ],
)
def test_failure_is_one_line(text: str, problem: str, where: str, hint: str) -> None:
    found = explain_failure(f"[1/2] Compiling k.cu\n{text}ninja: build stopped\n")
    assert found is not None
    assert (found.problem, found.where, found.hint) == (problem, where, hint)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('k.cu(3): error: identifier "x" is undefined\n', id="own-mistake"),
        pytest.param(
            "k.cu:3:10: fatal error: mine.h: No such file or directory\n", id="own-header"
        ),
    ],
)
def test_mistake_in_the_sources_is_left_to_the_compiler(text: str) -> None:
    assert explain_failure(text) is None
