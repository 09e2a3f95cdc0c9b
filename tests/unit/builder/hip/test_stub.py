from __future__ import annotations

import re

import pytest

from kernelmill.builder.hip.project import header_names, recipe_files
from kernelmill.builder.hip.stub import (
    StubNode,
    StubSymbols,
    read_stub_symbols,
    render_stub_source,
    render_version_script,
)

SYMBOLS = StubSymbols(
    nodes=(
        StubNode(name="hip_4.2", symbols=("hipFree", "hipGetErrorName")),
        StubNode(name="hip_6.0", symbols=("hipNew",)),
    ),
    returns_text=frozenset({"hipGetErrorName"}),
    returns_handle=frozenset(),
)
CALLED_BY_CLANG = {
    "__hipRegisterFatBinary",
    "__hipRegisterFunction",
    "__hipRegisterManagedVar",
    "__hipRegisterVar",
    "__hipUnregisterFatBinary",
}


def test_stub_offers_what_the_headers_declare_when_read_from_data() -> None:
    text = "".join(recipe_files()[f"cmake/hip-include/{name}"] for name in header_names())
    code = re.sub(r"//.*|#.*(\\\n.*)*", "", text)
    declared = set(
        re.findall(r"^(?:extern \"C\" )?(?:hipError_t|const char\*) (\w+)\(", code, re.M)
    )
    assert len(declared) > 40
    assert declared | CALLED_BY_CLANG | {"hipGetDevicePropertiesR0600"} == set(
        read_stub_symbols().versions
    )


def test_version_script_chains_nodes_when_there_are_several() -> None:
    assert render_version_script(SYMBOLS) == (
        "hip_4.2 {\n  global:\n    hipFree;\n    hipGetErrorName;\n  local:\n    *;\n};\n\n"
        "hip_6.0 {\n  global:\n    hipNew;\n} hip_4.2;\n"
    )


def test_source_reports_no_device_when_rendered() -> None:
    source = render_stub_source(SYMBOLS)
    assert "int hipFree() { return 100; }" in source
    assert "const char* hipGetErrorName() { return" in source


def test_recipe_is_complete_when_put_into_a_project() -> None:
    files = recipe_files()
    headers = {path for path in files if path.endswith(".h")}
    assert "cmake/hip-include/hip/hip_runtime.h" in headers
    modules = {path for path in files if path.startswith("cmake/hipify/")}
    assert "cmake/hipify/__main__.py" in modules
    assert sorted(set(files) - headers - modules) == [
        "cmake/hip_bundle.py",
        "cmake/hip_cross.cmake",
        "cmake/hip_stub.cpp",
        "cmake/hip_stub.map",
    ]


@pytest.mark.parametrize("name", sorted(recipe_files()))
def test_recipe_needs_nothing_of_ours_when_it_runs(name: str) -> None:
    assert "import kernelmill" not in recipe_files()[name]
    assert "from kernelmill" not in recipe_files()[name]
