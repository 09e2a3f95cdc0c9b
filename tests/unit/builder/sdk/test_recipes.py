from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from tests.unit.builder.sdk.wheels import C10, torch_wheel, write_wheel

from kernelmill.binary import elf
from kernelmill.binary.symbols import Export, read_exports
from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk import fetch
from kernelmill.builder.sdk.fetch import download_command
from kernelmill.builder.sdk.making import make_sdk
from kernelmill.builder.sdk.pins import known_inputs
from kernelmill.builder.sdk.recipes import Wanted, abi_stubs, recipes, torch
from kernelmill.builder.sdk.store import Store
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.sdk.store import Sdk


@pytest.fixture(autouse=True)
def unpinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take made-up wheels: nothing is known about any file."""
    monkeypatch.setattr(torch, "known_files", lambda *_: {})


def make(tmp_path: Path, name: str = "torch-2.12.0", notes: list[str] | None = None) -> Sdk:
    kind, _, version = name.rpartition("-")
    return make_sdk(
        kind,
        version,
        Store(tmp_path / "store"),
        platform="x86_64-linux",
        cxx="g++",
        offline=tmp_path,
        note=(notes if notes is not None else []).append,
    )


def test_torch_has_headers_cmake_files_and_stubs(tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path)
    sdk = make(tmp_path)
    assert sdk.record.name == "torch-2.12.0+cu130"
    assert sdk.record.facts == {"version": "2.12.0+cu130", "cuda": "13.0", "cxx11-abi": "yes"}
    (source,) = sdk.record.inputs
    assert (source.name, source.version, source.file) == ("torch", "2.12.0", wheel.name)
    assert source.sha256 == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert sorted(it.relative_to(sdk.tree).as_posix() for it in sdk.tree.rglob("*.*")) == [
        "torch/include/torch/csrc/api/include/torch/all.h",
        "torch/include/torch/torch.h",
        "torch/lib/libc10.so",
        "torch/lib/libtorch_cpu.so",
        "torch/share/cmake/Torch/TorchConfig.cmake",
        "torch/version.py",
    ]
    assert (sdk.tree / "torch/LICENSE").read_text() == "the license\n"


def test_torch_stub_has_every_symbol_of_torchs_own_and_no_other(tmp_path: Path) -> None:
    torch_wheel(tmp_path)
    library = elf.parse((make(tmp_path).tree / "torch/lib/libc10.so").read_bytes())
    assert {it.name for it in read_exports(library)} == {it.name for it in C10[:3]}


def test_same_files_make_the_same_sdk(tmp_path: Path) -> None:
    torch_wheel(tmp_path / "a")
    torch_wheel(tmp_path / "b", is_reversed=True)
    first, second = make(tmp_path / "a"), make(tmp_path / "b")
    assert first.record.nar_sha256 == second.record.nar_sha256
    assert first.record.inputs != second.record.inputs


def test_torch_records_flavour_and_string_abi(tmp_path: Path) -> None:
    torch_wheel(tmp_path, "2.12.0+cpu", symbols=C10[1:])
    assert make(tmp_path).record.facts == {"version": "2.12.0+cpu", "cxx11-abi": "no"}


def test_series_of_torch_means_its_known_release() -> None:
    (wanted,) = torch.wanted("2.12", "x86_64-linux")
    assert (wanted.name, wanted.version) == ("torch", "2.12.0")
    (other,) = torch.wanted("2.10.0+cu128", "x86_64-linux")
    assert other.version == "2.10.0+cu128"
    with pytest.raises(InputError, match=r"'2\.7' is not a release of PyTorch that is known"):
        torch.wanted("2.7", "x86_64-linux")


@pytest.mark.parametrize(
    ("files", "text"),
    [
        pytest.param({"torch/version.py": "__version__ = '2.12.0'\n"}, "no libc10.so", id="empty"),
        pytest.param({"torch/other.py": ""}, "not the wheel that is wanted", id="no-version-file"),
        pytest.param({"torch/version.py": "x = 1\n"}, "names no version", id="no-version"),
        pytest.param(
            {
                "torch/version.py": "__version__ = '2.12.0'\n",
                "torch/include/../../../out.h": "",
            },
            "the wheel holds the path 'torch/include/../../../out.h'",
            id="path",
        ),
        pytest.param(
            {"torch/version.py": "__version__ = '2.12.0'\n", "torch/lib/libc10.so": "text"},
            "not an ELF file",
            id="library",
        ),
    ],
)
def test_wheels_that_are_none_are_refused_and_leave_nothing(
    tmp_path: Path, files: dict[str, str], text: str
) -> None:
    write_wheel(tmp_path / "torch-2.12.0-cp311-cp311-linux_x86_64.whl", files)
    with pytest.raises(SdkError) as caught:
        make(tmp_path)
    assert text in str(caught.value)
    assert list((tmp_path / "store").iterdir()) == []


def test_damaged_wheel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "torch-2.12.0-cp311-cp311-linux_x86_64.whl").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(SdkError, match="not the wheel that is wanted") as caught:
        make(tmp_path)
    assert caught.value.hint == "fetch it again"


def test_file_that_is_not_the_known_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = torch_wheel(tmp_path)
    monkeypatch.setattr(torch, "known_files", lambda *_: {wheel.name: "0" * 64})
    with pytest.raises(SdkError, match=f"want {'0' * 64}") as caught:
        make(tmp_path)
    assert caught.value.where == str(wheel)
    assert caught.value.hint.startswith("this is not the file that was published")


def test_unknown_file_is_taken_and_said(tmp_path: Path) -> None:
    torch_wheel(tmp_path)
    notes: list[str] = []
    make(tmp_path, notes=notes)
    assert notes == [
        "torch-2.12.0-cp311-cp311-manylinux_2_28_x86_64.whl is not in the list of known files: "
        "took it, and recorded its sha256",
        "unpacking headers",
        "making a stub of libc10.so",
        "making a stub of libtorch_cpu.so",
    ]


def test_folder_without_the_wheel_is_an_error(tmp_path: Path) -> None:
    torch_wheel(tmp_path, "2.11.0")
    with pytest.raises(InputError, match=r"no wheel of torch 2\.12\.0 here") as caught:
        make(tmp_path)
    assert caught.value.hint == f"pip download --no-deps --dest {tmp_path} torch==2.12.0"


def test_recipe_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no recipe makes 'toast'") as caught:
        make(tmp_path, "toast-1.0")
    assert caught.value.hint == f"there are: {', '.join(sorted(recipes()))}"


def test_download_is_pips_ordinary_one_for_the_same_file_everywhere(tmp_path: Path) -> None:
    command = download_command(Wanted(name="torch", version="2.12.0"), "aarch64-linux", tmp_path)
    assert command[1:5] == ["-P", "-m", "pip", "--disable-pip-version-check"]
    assert command[5:7] == ["download", "--no-deps"]
    assert command[-1] == "torch==2.12.0"
    assert "manylinux_2_28_aarch64" in command
    assert command[command.index("--python-version") + 1] == "3.11"
    assert not any(word.startswith(("--index-url", "--extra-index", "http")) for word in command)


def test_pip_that_fails_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "download_command", lambda *_: ["false"])
    store = Store(tmp_path)
    with pytest.raises(SdkError, match=r"pip could not download torch 2\.12\.0") as caught:
        make_sdk("torch", "2.12", store, platform="x86_64-linux", cxx="g++", note=print)
    assert caught.value.hint == "see its message above; with files of your own: --from FOLDER"
    assert list(tmp_path.iterdir()) == []


def export(name: str, version: str, *, is_default: bool = True) -> Export:
    return Export(name=name, version=version, kind=2, is_weak=False, size=0, is_default=is_default)


def test_old_libstdcxx_is_what_a_newer_one_had_then() -> None:
    exports = [
        export("old", "GLIBCXX_3.4.24"),
        export("new", "GLIBCXX_3.4.25"),
        export("wait", "GLIBCXX_3.4.11", is_default=False),
        export("wait", "GLIBCXX_3.4.30"),
        export("throw", "CXXABI_1.3.11"),
        export("later", "CXXABI_1.3.13"),
        export("atomic", "CXXABI_TM_1"),
        export("unwind", "GCC_7.0.0"),
        export("glibc", "GLIBC_2.2.5"),
        export("plain", ""),
    ]
    kept = {(it.name, it.version, it.is_default) for it in abi_stubs.cut(exports)}
    assert kept == {
        ("old", "GLIBCXX_3.4.24", True),
        ("wait", "GLIBCXX_3.4.11", True),
        ("throw", "CXXABI_1.3.11", True),
        ("atomic", "CXXABI_TM_1", True),
        ("unwind", "GCC_7.0.0", True),
    }


def test_abi_stubs_are_for_one_glibc() -> None:
    names = [it.name for it in abi_stubs.wanted("2.28", "x86_64-linux")]
    assert names == ["ziglang", "libstdc++.so.6", "libgcc_s.so.1"]
    for version, platform in (("2.17", "x86_64-linux"), ("2.28", "riscv64-linux")):
        with pytest.raises(InputError, match=f"no abi-stubs-{version} for {platform}"):
            abi_stubs.wanted(version, platform)


def test_build_of_an_index_is_asked_for_literally(tmp_path: Path) -> None:
    (wanted,) = torch.wanted("2.13.0+cu130", "x86_64-linux")
    assert (wanted.version, wanted.is_literal) == ("2.13.0", True)
    assert download_command(wanted, "x86_64-linux", tmp_path)[-1] == "torch===2.13.0"
    torch_wheel(tmp_path, "2.13.0+cu130")
    other = tmp_path / "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"
    other.write_bytes(b"not this one")
    assert make(tmp_path, "torch-2.13.0+cu130").record.version == "2.13.0+cu130"


def test_wheel_of_another_flavour_is_refused(tmp_path: Path) -> None:
    torch_wheel(tmp_path, "2.13.0+cpu")
    with pytest.raises(SdkError) as caught:
        make(tmp_path, "torch-2.13.0+cu130")
    assert caught.value.problem == "this makes torch-2.13.0+cpu, not torch-2.13.0+cu130"
    assert list((tmp_path / "store").iterdir()) == []


def test_known_files_are_named_like_their_wheels() -> None:
    for versions in known_inputs().values():
        for inputs in versions.values():
            for it in inputs:
                assert len(it.sha256) == 64
                separator = "_" if it.file.endswith(".deb") else "-"
                name = f"{it.name}{separator}{it.version}"
                assert unquote(it.file).startswith((name, it.name.replace("-", "_")))
