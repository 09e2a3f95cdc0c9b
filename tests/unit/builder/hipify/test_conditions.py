from __future__ import annotations

import pytest

from kernelmill.builder.hipify.conditions import Macros, compiled_lines

MACROS = Macros(("USE_ROCM",), ("__CUDA_ARCH__", "CUDA_VERSION"))


@pytest.mark.parametrize(
    ("expression", "truth"),
    [
        pytest.param("defined(USE_ROCM)", True, id="known"),
        pytest.param("!defined USE_ROCM", False, id="not"),
        pytest.param("defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800", False, id="cuda"),
        pytest.param("CUDA_VERSION >= 12000", False, id="undefined-is-0"),
        pytest.param("__gfx942__ || USE_ROCM", True, id="or"),
        pytest.param("defined(OTHER) && defined(USE_ROCM)", None, id="unknown"),
        pytest.param("!(defined(OTHER) || 1)", False, id="parentheses"),
        pytest.param("0", False, id="zero"),
        pytest.param("__has_include(<x.h>)", None, id="not-understood"),
    ],
)
def test_expression(expression: str, truth: bool | None) -> None:
    assert MACROS.holds(expression) is truth


def test_compiled_lines_follow_branches() -> None:
    text = """\
#if defined(OTHER)
a
#elif defined(USE_ROCM)
b
#else
c
#endif
#ifndef USE_ROCM
d
#ifdef OTHER
e
#endif
#else
f
#endif"""
    found = dict(zip(text.split("\n"), compiled_lines(text.split("\n"), MACROS), strict=True))
    assert {key: found[key] for key in "abcdef"} == {
        "a": None, "b": None, "c": False, "d": False, "e": False, "f": True,
    }  # fmt: skip
