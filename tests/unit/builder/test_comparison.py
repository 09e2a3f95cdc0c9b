from __future__ import annotations

import json

import pytest

from kernelmill.builder.comparison import compare_builds
from kernelmill.builder.sdk.stub import X86_64, StubSymbol, write_stub

METADATA = {
    "id": "_relu_cpu_1",
    "provenance": {"kernel-builder": {"version": "0.1.0"}},
    "kernelmill": {"mode": "release", "inputs": {"kernelmill": "aa", "build.toml": "bb"}},
}


def library(*names: str) -> bytes:
    symbols = [StubSymbol(name, "V_1") for name in names]
    return write_stub("libx.so", symbols, machine=X86_64)


def words(old: bytes, new: bytes, path: str = "x.abi3.so") -> tuple[str, ...]:
    (found,) = compare_builds({path: old}, {path: new})
    assert found.path == path
    return found.words


def test_equal_builds_have_no_differences() -> None:
    files = {"x.abi3.so": library("a"), "metadata.json": b"{}", "__init__.py": b""}
    assert compare_builds(files, dict(files)) == ()
    assert compare_builds({**files, "metadata.json.sig": b"signed later"}, files) == ()


def test_files_that_one_build_lacks_are_named() -> None:
    found = compare_builds({"a.so": b"", "b.so": b""}, {"b.so": b"", "c.so": b""})
    assert [(it.path, it.words) for it in found] == [
        ("a.so", ("only the recorded build has it",)),
        ("c.so", ("only the rebuilt build has it",)),
    ]


def test_sections_and_symbols_that_differ_are_named() -> None:
    found = words(library("relu", "gelu"), library("relu", "silu"))
    assert any(it.startswith("section .dynstr differs in ") for it in found)
    assert "only the recorded file has the symbol 'gelu'" in found
    assert "only the rebuilt file has the symbol 'silu'" in found


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        pytest.param(
            b"\0/home/joe/relu.cpp\0",
            b"\0/src/relu.cpp\0",
            "only the recorded file has the path '/home/joe/relu.cpp'",
            id="path",
        ),
        pytest.param(
            b"\0built Dec  1 2026\0",
            b"\0built Jan  1 1980\0",
            "only the recorded file has the time 'Dec  1 2026'",
            id="date",
        ),
        pytest.param(
            b"at 13:45:10",
            b"at 00:00:00",
            "only the rebuilt file has the time '00:00:00'",
            id="time",
        ),
        pytest.param(
            b"a\nb = 1\n",
            b"a\nb = 2\n",
            "line 2 is 'b = 1' in the recorded file, 'b = 2' in the rebuilt one",
            id="line",
        ),
        pytest.param(
            b"a\n", b"a\n\n", "the recorded file has 2 bytes, the rebuilt one 3", id="length"
        ),
    ],
)
def test_difference_is_told_in_words(old: bytes, new: bytes, sentence: str) -> None:
    assert sentence in words(old, new, "data.bin")


def test_damaged_library_is_no_reason_to_fail() -> None:
    found = words(library("relu"), library("relu")[:100])
    assert any("is no whole ELF file" in it for it in found)


def test_metadata_is_compared_key_by_key() -> None:
    other = {**METADATA, "id": "_relu_cpu_2"}
    (found,) = compare_builds(
        {"metadata.json": json.dumps(METADATA).encode()},
        {"metadata.json": json.dumps(other).encode()},
    )
    assert found.words == (
        "id is '_relu_cpu_1' in the recorded file, '_relu_cpu_2' in the rebuilt one",
    )
    assert not found.is_builder_only


def test_another_version_of_the_builder_is_no_failure() -> None:
    other = json.loads(json.dumps(METADATA))
    other["provenance"]["kernel-builder"]["version"] = "0.2.0"
    other["kernelmill"]["inputs"]["kernelmill"] = "cc"
    old, new = json.dumps(METADATA).encode(), json.dumps(other).encode()
    (found,) = compare_builds({"metadata.json": old}, {"metadata.json": new})
    assert found.is_builder_only
    assert len(found.words) == 2
    other["kernelmill"]["inputs"]["build.toml"] = "dd"
    (found,) = compare_builds({"metadata.json": old}, {"metadata.json": json.dumps(other).encode()})
    assert not found.is_builder_only
