"""The commands that look at finished variants: check-builds, check-abi, hash, inspect. L8, L14."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.binary.test_cuda_fatbin import FATBIN, cuda, entry, fatbin, host
from tests.unit.binary.test_macho import image
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.builder.check.archs import check_archs, read_archs
from kernelmill.builder.cli import main
from kernelmill.builder.errors import SourceError
from kernelmill.builder.hashing import hash_variant
from kernelmill.builder.variants import find_extensions, find_variants, variant_of
from kernelmill.spec import metadata as metadata_format

if TYPE_CHECKING:
    from pathlib import Path

DARWIN = "torch213-metal-aarch64-darwin"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    for name in ("torch-cpu", "torch-universal"):
        write_files(tmp_path / "build" / name, kernel_files())
    return tmp_path


@pytest.mark.parametrize(
    ("made", "asked", "found"),
    [
        pytest.param(["build/torch-cpu"], ".", ["build/torch-cpu"], id="build"),
        pytest.param(
            ["build/torch-cpu", "result/torch-cuda"], ".", ["result/torch-cuda"], id="result-first"
        ),
        pytest.param(["torch-b", "torch-a"], ".", ["torch-a", "torch-b"], id="folder-itself"),
        pytest.param(["build/torch-cpu"], "build/torch-cpu", ["build/torch-cpu"], id="one"),
    ],
)
def test_variants_are_found_where_builders_put_them(
    tmp_path: Path, made: list[str], asked: str, found: list[str]
) -> None:
    for name in made:
        write_files(tmp_path / name, kernel_files())
    assert find_variants(tmp_path / asked) == tuple(tmp_path / name for name in found)


def test_no_variants_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SourceError, match=f"No build variants found in {tmp_path}"):
        find_variants(tmp_path)
    for command in ("check-builds", "check-abi", "hash"):
        assert main([command, str(tmp_path)]) == 2
        assert "No build variants found in" in capsys.readouterr().err


def test_extensions_are_found_below_a_variant(tmp_path: Path) -> None:
    files = {"a.so": b"", "k/b.pyd": b"", "k/c.dylib": b"", "d.so.txt": b"", "e.py": b""}
    write_files(tmp_path, files)
    names = [path.relative_to(tmp_path).as_posix() for path in find_extensions(tmp_path)]
    assert names == ["a.so", "k/b.pyd", "k/c.dylib"]


def test_variant_of_another_folder_is_none(tmp_path: Path) -> None:
    assert str(variant_of(tmp_path / "torch-cpu")) == "torch-cpu"
    assert variant_of(tmp_path / "odd") is None


def test_check_builds_hides_no_variant_behind_another(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-builds", str(kernel)]) == 0
    assert capsys.readouterr().out == "torch-cpu: ok\ntorch-universal: ok\n"
    (kernel / "build" / "torch-cpu" / "metadata.json").write_text("{", encoding="utf-8")
    (kernel / "build" / "torch-universal" / "new.py").write_text("import os\n", encoding="utf-8")
    assert main(["check-builds", "--json", str(kernel)]) == 1
    output = capsys.readouterr()
    cpu, universal = json.loads(output.out)["variants"]
    assert "not valid JSON" in cpu["findings"][0]["problem"]
    assert universal["findings"] == [{"problem": "Unknown file: new.py", "hint": "build it again"}]
    assert "2 variants of 2 wrong" in output.err


def test_l14_check_builds_compares_with_an_earlier_build(
    kernel: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path_factory.mktemp("old") / "torch-cpu"
    write_files(old, kernel_files() | {"__init__.py": b"def relu(x, out=None): ...\n"})
    assert main(["check-builds", "--against", str(old), str(kernel)]) == 1
    assert "  - - relu(x, out=...)" in capsys.readouterr().out


def test_hash_makes_a_changed_variant_right_and_keeps_other_keys(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kernel / "build" / "torch-cpu"
    path = folder / "metadata.json"
    document = json.loads(path.read_text(encoding="utf-8")) | {"of-another-builder": [1]}
    path.write_text(json.dumps(document), encoding="utf-8")
    (folder / "new.py").write_text("x = 1\n", encoding="utf-8")
    (folder / "metadata.json.sigstore").write_text("{}", encoding="utf-8")
    assert main(["hash", str(kernel)]) == 0
    output = capsys.readouterr()
    assert "torch-cpu: 2 files, written\ntorch-universal: 1 file, unchanged\n" in output.out
    assert "metadata.json.sigstore signed the metadata as it was" in output.err
    text = path.read_text(encoding="utf-8")
    assert json.loads(text)["of-another-builder"] == [1]
    digest = metadata_format.parse(text, where="").digest
    assert digest is not None
    assert sorted(digest.files) == ["__init__.py", "new.py"]
    assert main(["check-builds", str(kernel)]) == 0
    assert not hash_variant(folder).is_changed
    assert [it.name for it in folder.iterdir() if it.name.endswith(".new")] == []


def test_check_abi_judges_every_binary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = image(minos=0x000E0000, undefined=("PyModule_Create2",))
    files = kernel_files() | {"_k.abi3.so": data}
    write_files(tmp_path / "build" / DARWIN, files)
    binary = tmp_path / "build" / DARWIN / "_k.abi3.so"
    assert main(["check-abi", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{binary}: needs macOS 14.0, ok\n"
    assert main(["check-abi", str(binary), "--macos", "13.5", "--json"]) == 1
    output = capsys.readouterr()
    assert output.err == "kernel-builder: ABI compatibility issues found\n"
    (found,) = json.loads(output.out)["binaries"]
    assert (found["format"], found["needs"]) == ("Mach-O", "macOS 14.0")
    assert [it["problem"] for it in found["findings"]] == [
        "built for macOS 14.0, and 13.5 is wanted"
    ]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--manylinux", "manylinux_3"], "no manylinux policy is called 'manylinux_3'"),
        (["--python-abi", "3"], "'3' is not a version: write two numbers, as in 3.9"),
        (["--torch-lib", "."], "no libraries here"),
    ],
)
def test_check_abi_says_what_is_wrong_with_an_option(
    kernel: Path,
    words: list[str],
    problem: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(kernel)
    try:
        status = main(["check-abi", *words])
    except SystemExit as error:
        status = int(error.code or 0)
    assert status == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("found", "wanted", "problems"),
    [
        pytest.param(["9.0a", "8.0"], ["8.0", "9.0a"], [], id="equal"),
        pytest.param(["12.0", "12.0+PTX"], ["12.0+PTX"], [], id="ptx-and-machine-code"),
        pytest.param(
            ["12.0+PTX"], ["12.0+PTX"], ["no device code for 12.0 in the binary"], id="ptx-alone"
        ),
        pytest.param(
            ["9.0"],
            ["9.0a"],
            [
                "no device code for 9.0a in the binary",
                "device code for 9.0 in the binary, which nobody asked for",
            ],
            id="suffix-counts",
        ),
        pytest.param(
            ["9.0", "9.0+PTX"],
            ["9.0"],
            ["device code for 9.0+PTX in the binary, which nobody asked for"],
            id="ptx-unasked",
        ),
    ],
)
def test_d3_cuda_architectures_are_those_of_the_metadata(
    found: list[str], wanted: list[str], problems: list[str]
) -> None:
    assert [it.problem for it in check_archs(found, wanted=wanted)] == problems


def test_d3_architectures_are_read_from_the_binary() -> None:
    assert read_archs(host(FATBIN), where="k.so") == ("8.0", "9.0a", "10.0f", "12.0+PTX")
    assert read_archs(host(b"", b".text"), where="k.so") == ()
    linker_left = cuda(host(b"", b".text"))
    section = fatbin(entry(75, data=linker_left), entry(90, kind=1))
    assert read_archs(host(section), where="k.so") == ("9.0+PTX",)


def test_inspect_reads_cuda(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "axpy.fatbin"
    path.write_bytes(FATBIN)
    assert main(["inspect", "--json", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)["cuda"]
    assert [it["arch"] for it in found] == ["8.0", "9.0a", "10.0f", "12.0+PTX"]
    assert found[1]["kernels"][0]["registers"] == 10
    assert found[3]["not_read"] == "ptx: the driver compiles it when it is loaded"
    assert main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    assert "registers  10 a thread; 0 bytes of stack; spills: not available" in text
    assert "instruction mix and occupancy: not available" in text
