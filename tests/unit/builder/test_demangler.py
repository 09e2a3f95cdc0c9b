from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.toolchain.demangler import demangle, shorten

if TYPE_CHECKING:
    from pathlib import Path

ROW_SUM = "_Z14row_sum_kernelPfPKfl"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        pytest.param(ROW_SUM, "row_sum_kernel", id="function"),
        pytest.param(
            "_ZN4gemm8multiplyILi256ELi128EEEvNS_7ProblemE", "gemm::multiply", id="template"
        ),
        pytest.param("_ZN12_GLOBAL__N_14reluEPf", "_GLOBAL__N_1::relu", id="unnamed"),
        pytest.param("plain_c", "plain_c", id="not-mangled"),
        pytest.param("_Z", "_Z", id="cut-off"),
    ],
)
def test_shorten_leaves_the_identifiers(name: str, short: str) -> None:
    assert shorten(name) == short


@pytest.mark.parametrize(
    ("script", "readable"),
    [
        pytest.param("echo 'row_sum_kernel(float*)'; echo plain", "row_sum_kernel(float*)", id="a"),
        pytest.param("exit 3", "row_sum_kernel", id="fails"),
        pytest.param("echo one line", "row_sum_kernel", id="too-few-lines"),
        pytest.param("cat", "row_sum_kernel", id="knows-nothing"),
        pytest.param("", "row_sum_kernel", id="silent"),
    ],
)
def test_demangle_asks_a_program_and_manages_without_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, readable: str
) -> None:
    program = tmp_path / "c++filt"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert demangle([ROW_SUM, "plain"]) == {ROW_SUM: readable, "plain": "plain"}


def test_demangle_manages_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert demangle([ROW_SUM]) == {ROW_SUM: "row_sum_kernel"}
