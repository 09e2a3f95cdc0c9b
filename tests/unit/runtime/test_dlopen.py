from __future__ import annotations

import pytest

from kernelmill.runtime.dlopen import read_complaint


@pytest.mark.parametrize(
    ("message", "problem", "hint"),
    [
        pytest.param(
            "/k/toy.abi3.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE",
            "the symbol _ZN3c105ErrorC2ENS_14SourceLocationE, which the installed PyTorch does not",
            "install the PyTorch it was built for",
            id="other-torch",
        ),
        pytest.param(
            "/k/toy.abi3.so: undefined symbol: _ZN2at4_ops10empty_like4callERKNS_6TensorE",
            "which the installed PyTorch does not have",
            "load a build for the installed PyTorch",
            id="other-aten",
        ),
        pytest.param(
            "/k/toy.so: undefined symbol: gemm_launch",
            "needs the symbol gemm_launch, which no loaded library has",
            "rebuild the kernel",
            id="own-symbol",
        ),
        pytest.param(
            "libamdhip64.so.7: cannot open shared object file: No such file or directory",
            "needs libamdhip64.so.7, which is not on this machine",
            "this is a ROCm build",
            id="no-rocm",
        ),
        pytest.param(
            "libcudart.so.13: cannot open shared object file: No such file or directory",
            "needs libcudart.so.13",
            "this is a CUDA build",
            id="no-cuda",
        ),
        pytest.param(
            "libfoo-1.so: cannot open shared object file: No such file or directory",
            "needs libfoo-1.so",
            "install what provides libfoo-1.so",
            id="no-library",
        ),
        pytest.param(
            "/lib/libc.so.6: version `GLIBC_2.38' not found (required by /k/toy.so)",
            "needs GLIBC_2.38, and this system is older",
            "use a newer system",
            id="old-libc",
        ),
        pytest.param(
            "/k/toy.so: compiled for aarch64, and this is x86_64",
            "was compiled for aarch64, and this machine is x86_64",
            "use a build for this machine",
            id="other-cpu",
        ),
        pytest.param(
            "/k/toy.so: wrong ELF class: ELFCLASS32",
            "for another kind of system (wrong ELF class: ELFCLASS32)",
            "load the kernel again",
            id="32-bit",
        ),
        pytest.param(
            "/k/toy.so: file too short", "is damaged, or", "remove the folder", id="cut-off"
        ),
    ],
)
def test_complaint_is_explained(message: str, problem: str, hint: str) -> None:
    found = read_complaint(message)
    assert found is not None
    assert problem in found[0]
    assert hint in found[1]


def test_other_text_is_no_complaint() -> None:
    assert read_complaint("No module named 'einops'") is None
