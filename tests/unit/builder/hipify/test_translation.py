"""Through torch's own tables, which are read from its files: torch is not imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.hipify.__main__ import main
from kernelmill.builder.hipify.translation import (
    NoHipifyError,
    Translator,
    find_hipify,
    read_version,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KERNEL = {
    "kernel/k.cu": '#include "../common/util.cuh"\n#include "shape.h"\n__global__ void k() {}\n',
    "common/util.cuh": "#pragma once\n#include <cuda_bf16.h>\ntypedef nv_bfloat16 number;\n",
    "include/shape.h": '#pragma once\n#include "deep/more.h"\n',
    "include/deep/more.h": "cudaStream_t stream();\n",
    "common/unused.h": "cudaFoo\n",
}


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator(find_hipify())


@pytest.mark.parametrize(
    ("cuda", "hip"),
    [
        pytest.param("__nv_bfloat16 a;", "__hip_bfloat16 a;", id="bf16"),
        pytest.param("nv_bfloat16 a;", "__hip_bfloat16 a;", id="short-bf16"),
        pytest.param("nv_bfloat162 a;", "__hip_bfloat162 a;", id="bf16-pair"),
        pytest.param("#include <cuda_bf16.h>", "#include <hip/hip_bf16.h>", id="bf16-header"),
        pytest.param("#include <cuda_fp8.h>", "#include <hip/hip_fp8.h>", id="fp8-header"),
        pytest.param("__nv_fp8_e4m3 a;", "__hip_fp8_e4m3 a;", id="fp8-is-ocp"),
        pytest.param("my_nv_bfloat16_t a;", "my_nv_bfloat16_t a;", id="not-within-a-name"),
        pytest.param("cudaMalloc(&a, 1);", "hipMalloc(&a, 1);", id="function"),
        pytest.param("k<<<1, 2>>>(a);", "k<<<1, 2>>>(a);", id="launch"),
    ],
)
def test_c4_names_are_mapped(translator: Translator, cuda: str, hip: str) -> None:
    assert translator.translate(f"{cuda}\n\nint b;\n", suffix=".cu") == f"{hip}\n\nint b;\n"


def test_translating_again_changes_nothing(translator: Translator) -> None:
    once = translator.translate(KERNEL["common/util.cuh"], suffix=".cuh")
    assert translator.translate(once, suffix=".cuh") == once


def test_renamed_lists_what_was_mapped(translator: Translator) -> None:
    before = "cudaStream_t s; nv_bfloat16 b;\n"
    after = translator.translate(before, suffix=".h")
    assert translator.renamed(before, after) == {
        "cudaStream_t": "hipStream_t", "nv_bfloat16": "__hip_bfloat16",
    }  # fmt: skip


def test_find_hipify_prefers_the_torch_that_is_built_against(tmp_path: Path) -> None:
    folder = tmp_path / "utils/hipify"
    folder.mkdir(parents=True)
    (folder / "hipify_python.py").touch()
    (folder / "version.py").write_text('__version__ = "9.1"\n')
    assert find_hipify(str(tmp_path / "include")) == folder
    assert read_version(folder) == "9.1"


def test_find_hipify_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(NoHipifyError, match=rf"no torch\.utils\.hipify in {tmp_path}$"):
        find_hipify(str(tmp_path / "include"))


def write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def run(root: Path, *files: str) -> int:
    output = root.parent / "copies"
    return main(["--root", str(root), "--output", str(output), "--include", "include", *files])


def test_c6_headers_are_translated_out_of_tree(tmp_path: Path) -> None:
    root, copies = tmp_path / "kernel", tmp_path / "copies"
    write(root, KERNEL)
    assert run(root, "kernel/k.cu") == 0
    assert {path: (root / path).read_text() for path in KERNEL} == KERNEL, "sources changed"
    made = {path.relative_to(copies).as_posix() for path in copies.rglob("*") if path.is_file()}
    assert made == set(KERNEL) - {"common/unused.h"}
    assert (copies / "common/util.cuh").read_text() == (
        '#include <hip/hip_runtime.h>\n#line 1 "common/util.cuh"\n'
        "#pragma once\n#include <hip/hip_bf16.h>\ntypedef __hip_bfloat16 number;\n"
    )
    assert (copies / "include/deep/more.h").read_text() == (
        '#line 1 "include/deep/more.h"\nhipStream_t stream();\n'
    )
    inputs = (tmp_path / "copies.inputs").read_text().split()
    assert inputs == [str(root / path) for path in sorted(made)]


def test_copies_that_are_right_are_not_touched(tmp_path: Path) -> None:
    root, copies = tmp_path / "kernel", tmp_path / "copies"
    write(root, KERNEL)
    run(root, "kernel/k.cu")
    before = {path: path.stat().st_mtime_ns for path in copies.rglob("*.*")}
    write(root, {"kernel/k.cu": "int changed;\n"})
    assert run(root, "kernel/k.cu") == 0
    after = {path: path.stat().st_mtime_ns for path in copies.rglob("*.*")}
    assert [path.name for path in after if after[path] != before[path]] == ["k.cu"]
    assert not (copies / "common/util.cuh").exists(), "nothing includes it any more"


def test_a_second_run_needs_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "kernel"
    write(root, KERNEL)
    run(root, "kernel/k.cu")
    monkeypatch.setattr("kernelmill.builder.hipify.__main__.Translator", None)
    assert run(root, "kernel/k.cu") == 0


def test_c4_all_that_has_no_counterpart_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "kernel"
    write(root, {**KERNEL, "kernel/k.cu": '#include "../common/unused.h"\n#include <mma.h>\n'})
    assert run(root, "kernel/k.cu") == 1
    assert capsys.readouterr().err == (
        "common/unused.h:1: error: 'cudaFoo' has no counterpart in HIP\n"
        "kernel/k.cu:2: error: 'mma.h' has no counterpart in HIP\n"
    )
    assert not (tmp_path / "copies").exists()


def test_record_says_what_was_renamed_and_by_which_hipify(tmp_path: Path) -> None:
    write(tmp_path / "kernel", KERNEL)
    run(tmp_path / "kernel", "kernel/k.cu")
    record = json.loads((tmp_path / "copies.json").read_text())
    assert record["hipify"] == read_version(find_hipify())
    assert record["renamed"]["common/util.cuh"] == {
        "cuda_bf16.h": "hip/hip_bf16.h", "nv_bfloat16": "__hip_bfloat16",
    }  # fmt: skip


def test_hip_sources_stay_as_they_are(tmp_path: Path) -> None:
    write(tmp_path / "kernel", {"a.hip": "cudaStream_t s;\n"})
    run(tmp_path / "kernel", "a.hip")
    assert (tmp_path / "copies/a.hip").read_text() == "cudaStream_t s;\n"


def test_torch_is_not_imported(tmp_path: Path) -> None:
    write(tmp_path / "kernel", {"k.cu": "cudaStream_t s;\n"})
    program = (
        "import sys; from kernelmill.builder.hipify.__main__ import main; "
        "main(sys.argv[1:]); print('torch' in sys.modules)"
    )
    arguments = ["--root", f"{tmp_path}/kernel", "--output", f"{tmp_path}/copies", "k.cu"]
    environ = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=environ,
        check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"
