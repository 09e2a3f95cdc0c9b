"""Loading with the real torch, the real dynamic linker and the real command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import kernel_files, unload_kernels, write_files

import kernels
from kernelmill.runtime import probe
from kernelmill.runtime.cli import main
from kernelmill.runtime.errors import LoadFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEEDS_OTHER_TORCH = "extern void _ZN3c1019a_function_of_anotherEv(void);\n"
CALL = "void *PyInit_compiled(void) { _ZN3c1019a_function_of_anotherEv(); return 0; }\n"


@pytest.fixture(autouse=True)
def _clean_process() -> Iterator[None]:
    yield
    unload_kernels()


def compile_library(folder: Path, source: str, *flags: str) -> bytes:
    """Compile C to a shared library."""
    pytest.importorskip("ziglang", reason="the compiler comes with the extra `builder`")
    (folder / "library.c").write_text(source)
    command = [sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-O1", "library.c"]
    subprocess.run([*command, *flags, "-o", "library.so"], check=True, cwd=folder, timeout=300)
    return (folder / "library.so").read_bytes()


def test_host_is_this_machine() -> None:
    host = probe.probe_host()
    torch = probe.import_torch()
    assert host.python == sys.version_info[:2]
    assert host.torch is not None
    assert torch is not None
    assert host.torch.text == torch.__version__
    assert probe.probe_devices(host.backend) == () or torch.cuda.is_available()


def test_build_for_another_torch_is_named_when_it_cannot_be_linked(tmp_path: Path) -> None:
    library = compile_library(tmp_path, NEEDS_OTHER_TORCH + CALL)
    sources = {"__init__.py": "from . import compiled\n"}
    files = kernel_files(sources=sources, binaries={"compiled.abi3.so": library})
    folder = write_files(tmp_path / "toy/build/torch-cpu", files)
    before = set(sys.modules)
    with pytest.raises(LoadFailed) as caught:
        kernels.get_local_kernel(folder)
    text = str(caught.value)
    assert "compiled.abi3.so: cannot load kernel 'toy': it needs the symbol _ZN3c1019a_fun" in text
    assert "built for torch-cpu, you have torch 2." in text
    assert {name for name in set(sys.modules) - before if name.startswith("_toy")} == set()


def test_missing_runtime_library_is_named(tmp_path: Path) -> None:
    (tmp_path / "hip").mkdir()
    compile_library(tmp_path / "hip", "int hip;\n", "-Wl,-soname,libamdhip64.so.99")
    library = compile_library(
        tmp_path, "extern int hip; void *PyInit_compiled(void) { return &hip; }\n", "hip/library.so"
    )
    sources = {"__init__.py": "from . import compiled\n"}
    files = kernel_files(sources=sources, binaries={"compiled.abi3.so": library})
    with pytest.raises(
        LoadFailed, match=r"needs libamdhip64\.so\.99, which is not on this machine"
    ):
        kernels.get_local_kernel(write_files(tmp_path / "toy/build/torch-cpu", files))


def test_doctor_describes_this_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("KERNELS_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["version"] == 1
    assert facts["findings"] == []
    assert facts["cache"].startswith(str(tmp_path / "endpoints"))
    assert (facts["backend"], facts["is_offline"]) == (probe.probe_host().backend.value, True)


def test_doctor_names_a_hub_that_does_not_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert main(["doctor"]) == 1
    assert "http://127.0.0.1:1: the Hub does not answer" in capsys.readouterr().out


def test_info_describes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(tmp_path / "build/torch-cpu", kernel_files())
    assert main(["info", str(tmp_path)]) == 0
    assert "name            toy\n" in capsys.readouterr().out
    assert main(["info", str(tmp_path), "--version", "1"]) == 2
    assert "--revision and --version cannot be used with a local path" in capsys.readouterr().err
