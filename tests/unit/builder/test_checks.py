from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernelmill.binary.symbols import Linkage, Reference
from kernelmill.builder.check import Finding, require_no_findings
from kernelmill.builder.check.archs import check_archs
from kernelmill.builder.check.headers import check_headers
from kernelmill.builder.check.imports import check_imports
from kernelmill.builder.check.linkage import check_linkage
from kernelmill.builder.errors import CheckError

HIP7, HIP6 = "libamdhip64.so.7", "libamdhip64.so.6"


def linkage(
    *needed: str, runpath: tuple[str, ...] = (), defined: str = "PyInit__relu_cpu_1"
) -> Linkage:
    return Linkage(
        soname="",
        needed=needed,
        runpath=runpath,
        rpath=(),
        undefined=(),
        defined=(Reference(name=defined, version="", library="", is_weak=False),),
    )


@pytest.mark.parametrize(
    ("library", "soname", "problems"),
    [
        pytest.param(linkage("libc.so.6"), "", [], id="cpu"),
        pytest.param(linkage(HIP7, "libc.so.6"), HIP7, [], id="rocm"),
        pytest.param(
            linkage(HIP7), HIP6, [f"the extension needs {HIP7}, want {HIP6}"], id="other-major"
        ),
        pytest.param(
            linkage("libamdhip64.so"),
            HIP7,
            [f"the extension needs libamdhip64.so, want {HIP7}"],
            id="unversioned",
        ),
        pytest.param(linkage(HIP7), "", [f"the extension needs {HIP7}, want none"], id="cpu+gpu"),
        pytest.param(
            linkage(),
            HIP7,
            [f"the extension does not need {HIP7}: it launches nothing"],
            id="nothing-launched",
        ),
        pytest.param(
            linkage(runpath=("/opt/rocm/lib",)),
            "",
            ["the extension has the library search path '/opt/rocm/lib'"],
            id="runpath",
        ),
        pytest.param(linkage("libtorch_cpu.so", "libstdc++.so.6"), "", [], id="torch"),
        pytest.param(
            linkage("libtorch_cpu.so", "libc10.so"),
            "",
            [
                "the extension does not need libstdc++.so.6: it brings a C++ runtime of its own, "
                "and torch has loaded another"
            ],
            id="second-c++-runtime",
        ),
        pytest.param(
            linkage(defined="other"),
            "",
            ["Python cannot import the extension: it has no PyInit__relu_cpu_1"],
            id="no-entry-point",
        ),
    ],
)
def test_check_linkage(library: Linkage, soname: str, problems: list[str]) -> None:
    findings = check_linkage(library, module="_relu_cpu_1", runtime_soname=soname)
    assert [finding.problem for finding in findings] == problems


@pytest.mark.parametrize(
    ("found", "wanted", "problems"),
    [
        pytest.param(["gfx942", "gfx942"], ["gfx942"], [], id="two-sources"),
        pytest.param([], [], [], id="no-device"),
        pytest.param(
            ["gfx942"],
            ["gfx90a", "gfx942"],
            ["no device code for gfx90a in the binary"],
            id="missing",
        ),
        pytest.param(
            ["gfx90a", "gfx90a:xnack+"],
            ["gfx90a"],
            ["device code for gfx90a:xnack+ in the binary, which nobody asked for"],
            id="extra",
        ),
    ],
)
def test_check_archs(found: list[str], wanted: list[str], problems: list[str]) -> None:
    assert [it.problem for it in check_archs(found, wanted=wanted)] == problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("from .utils import x\nfrom . import y\n", "", id="relative"),
        pytest.param("import foobar\nfrom foo_bar import x\n", "", id="another-package"),
        pytest.param("import foo\n", "a.py:1: absolute import of 'foo'", id="import"),
        pytest.param(
            "x = 1\nfrom foo.utils import y\n", "a.py:2: absolute import of 'foo.utils'", id="from"
        ),
        pytest.param(
            "def f():\n    import os, foo.utils\n",
            "a.py:2: absolute import of 'foo.utils'",
            id="inside-a-function",
        ),
        pytest.param("def (:\n", "a.py:1: not valid Python: invalid syntax", id="syntax"),
    ],
)
def test_check_imports(text: str, problem: str) -> None:
    findings = check_imports({"a.py": text.encode()}, package="foo")
    assert [it.problem for it in findings] == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"# coding: latin-1\nx = '\xe9'\n", None, id="declared"),
        pytest.param(
            b"x = 1\ny = '\xe9'\n", r"a\.py:\d: not valid Python: .*utf-8", id="undeclared"
        ),
        pytest.param(b"x = 1\0\n", r"a\.py:\d: not valid Python: .*null bytes", id="null"),
    ],
)
def test_check_imports_reads_any_encoding(content: bytes, problem: str | None) -> None:
    findings = check_imports({"a.py": content}, package="foo")
    assert len(findings) == (problem is not None)
    assert all(re.match(problem or "", it.problem) for it in findings)


def test_check_headers_finds_what_the_manifest_does_not_name() -> None:
    read = {
        Path("/k/relu/relu.h"),
        Path("/k/relu/hidden.h"),
        Path("/k/torch-ext/registration.h"),
        Path("/k/.kernelmill/v/project/torch-ext/registration.h"),
        Path("/usr/include/stdint.h"),
    }
    findings = check_headers(
        read, root=Path("/k"), known={"relu/relu.h"}, ignored=Path("/k/.kernelmill")
    )
    assert [it.problem for it in findings] == [
        "relu/hidden.h is compiled in, but build.toml does not name it"
    ]


def test_require_no_findings_lists_all_of_them() -> None:
    require_no_findings((), where="x")
    one = Finding(problem="a is wrong", hint="change a")
    with pytest.raises(CheckError) as alone:
        require_no_findings((one,), where="x")
    assert str(alone.value) == "x: a is wrong\n  hint: change a"
    with pytest.raises(CheckError) as both:
        require_no_findings((one, Finding(problem="b is wrong")), where="x")
    assert str(both.value) == "x: 2 findings:\n  - a is wrong\n    change a\n  - b is wrong"
    assert both.value.exit_code == 1
