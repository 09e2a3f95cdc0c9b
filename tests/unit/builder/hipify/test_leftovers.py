"""C4: what has no counterpart is named, with its place, before a compiler sees it."""

from __future__ import annotations

import pytest

from kernelmill.builder.hipify.leftovers import find_leftovers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("cudaFoo(1);\n", [(1, "cudaFoo")], id="function"),
        pytest.param("x\n__nv_fp4_e2m1 a;\n", [(2, "__nv_fp4_e2m1")], id="type"),
        pytest.param("#include <cuda_pipeline.h>\n", [(1, "cuda_pipeline.h")], id="header"),
        pytest.param(
            "#include <mma.h>\nnvcuda::wmma::x y;\n", [(1, "mma.h"), (2, "nvcuda")], id="wmma"
        ),
        pytest.param(
            'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a));\n',
            [(1, "cp.async.cg.shared.global")],
            id="ptx",
        ),
        pytest.param('asm volatile("s_nop 0");\n', [], id="amd-assembly"),
        pytest.param('// cudaFoo\n/* cudaBar\n */ "cudaBaz"\n', [], id="comments-and-texts"),
        pytest.param("#ifdef __CUDA_ARCH__\ncudaFoo();\n#endif\n", [], id="not-compiled"),
        pytest.param("#ifdef SOMETHING\ncudaFoo();\n#endif\n", [], id="perhaps-not-compiled"),
        pytest.param("#if !defined(USE_ROCM)\n#include <mma.h>\n#endif\n", [], id="guarded-header"),
        pytest.param("void cudaCheck(int e) {}\ncudaCheck(f());\n", [], id="own-function"),
        pytest.param("#define cudaCheck(x) x\ncudaCheck(1);\n", [], id="own-macro"),
        pytest.param("int cudaDevice = 0;\nf(cudaDevice);\n", [], id="own-variable"),
        pytest.param("return cudaFoo(1);\n", [(1, "cudaFoo")], id="return-declares-nothing"),
        pytest.param("x.cudaFoo(); y->cudaBar();\n", [], id="members"),
        pytest.param("cudaFoo(); cudaFoo();\ncudaFoo();\n", [(1, "cudaFoo")], id="once"),
    ],
)
def test_leftovers(text: str, found: list[tuple[int, str]]) -> None:
    assert find_leftovers({"a/k.cu": text}) == [("a/k.cu", line, name) for line, name in found]


def test_header_of_the_kernel_is_no_leftover_whatever_its_name() -> None:
    texts = {"a/k.cu": '#include "cuda_tools.h"\n', "a/cuda_tools.h": "\n"}
    assert find_leftovers(texts) == []


def test_name_that_another_file_declares_is_no_leftover() -> None:
    texts = {"k.cu": "cudaCheck(1);\n", "check.h": "template <class T>\nvoid cudaCheck(T e);\n"}
    assert find_leftovers(texts) == []
