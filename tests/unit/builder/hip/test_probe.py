"""Probing folders made for the test, whose compilers are scripts that answer as real ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.hip.probe import look_around, probe_hip_compilers
from kernelmill.builder.hip.toolchain import choose

if TYPE_CHECKING:
    from pathlib import Path

CPUS = "Available CPUs for this target:\n\tgeneric\n\tgfx942\n\tgfx90a\n"


def write_compiler(path: Path, *, version: str, cpus: str = CPUS, lld: str = "lld") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'#!/bin/sh\ncase "$*" in\n*--version*) echo "{version}" ;;\n'
        f'*--print-prog-name=lld*) echo "{lld}" ;;\n'
        f"*--print-supported-cpus*) printf '%s' '{cpus}' >&2 ;;\n*) exit 9 ;;\nesac\n",
        "utf-8",
    )
    path.chmod(0o755)
    return path


def write_sdk(root: Path, *, has_header: bool = True) -> Path:
    write_compiler(root / "lib" / "llvm" / "bin" / "clang++", version="AMD clang version 20.0.0")
    if has_header:
        (root / "include" / "hip").mkdir(parents=True)
        (root / "include" / "hip" / "hip_runtime.h").touch()
    return root


def probe(tmp_path: Path, **environ: str) -> dict[str, str]:
    trials = probe_hip_compilers(
        environ={"PATH": str(tmp_path / "bin"), **environ},
        package_folders=[str(tmp_path / "packages")],
        opt_folder=tmp_path / "opt",
    )
    chosen = choose(trials)
    return {trial.place.label: str(trial) for trial in trials} | {
        "chosen": chosen.rocm_root or chosen.command[0] if chosen else "none"
    }


def test_nothing_is_none_and_not_empty_text_when_there_is_no_compiler(tmp_path: Path) -> None:
    found = look_around({"ROCM_PATH": "", "PATH": ""}, [""], [""], tmp_path)
    assert (found.rocm_variable, found.hipcc, found.zig, found.pip_sdk) == (None,) * 4
    assert (found.opt_folders, found.clangs) == ((), ())


def test_current_folder_is_not_searched_when_path_has_an_empty_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_compiler(tmp_path / "hipcc", version="trap")
    monkeypatch.chdir(tmp_path)
    assert look_around({}, ["", str(tmp_path / "bin")], [], tmp_path).hipcc is None


def test_sdk_is_chosen_when_variable_names_it(tmp_path: Path) -> None:
    sdk = write_sdk(tmp_path / "sdk")
    found = probe(tmp_path, ROCM_PATH=str(sdk))
    assert found["chosen"] == str(sdk)
    assert found["ROCM_PATH"] == f"ROCM_PATH ({sdk}): AMD clang version 20.0.0"


def test_versioned_folder_is_chosen_when_it_is_the_only_sdk(tmp_path: Path) -> None:
    sdk = write_sdk(tmp_path / "opt" / "rocm-6.2.0")
    (tmp_path / "opt" / "rocmish").mkdir()
    assert probe(tmp_path)["chosen"] == str(sdk)


def test_sdk_is_found_from_hipcc_when_that_is_a_link(tmp_path: Path) -> None:
    sdk = write_sdk(tmp_path / "elsewhere")
    hipcc = write_compiler(sdk / "bin" / "hipcc", version="HIP version: 6.2")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "hipcc").symlink_to(hipcc)
    assert probe(tmp_path)["chosen"] == str(sdk)


def test_sdk_from_pip_comes_first_when_there_are_several(tmp_path: Path) -> None:
    pip = write_sdk(tmp_path / "packages" / "_rocm_sdk_devel")
    other = write_sdk(tmp_path / "sdk")
    assert probe(tmp_path, ROCM_PATH=str(other))["chosen"] == str(pip)


def test_runtime_only_sdk_is_passed_over_when_it_has_no_headers(tmp_path: Path) -> None:
    sdk = write_sdk(tmp_path / "sdk", has_header=False)
    found = probe(tmp_path, ROCM_PATH=str(sdk))
    assert found["chosen"] == "none"
    assert found["ROCM_PATH"] == f"ROCM_PATH ({sdk}): no include/hip/hip_runtime.h"


@pytest.mark.parametrize(
    ("version", "cpus", "lld", "objection"),
    [
        pytest.param("Debian clang version 14.0.6", CPUS, "sh", "is older than clang 19", id="old"),
        pytest.param(
            "clang version 19.1.7",
            CPUS,
            "no-such-lld",
            "has no lld to link device code: install lld-19",
            id="no-lld",
        ),
        pytest.param("clang version 19.1.7", "", "/bin/sh", "has no AMDGPU target", id="no-target"),
    ],
)
def test_clang_is_passed_over_when_it_cannot_do_the_work(
    tmp_path: Path, version: str, cpus: str, lld: str, objection: str
) -> None:
    write_compiler(tmp_path / "bin" / "clang++", version=version, cpus=cpus, lld=lld)
    found = probe(tmp_path)
    assert found["chosen"] == "none"
    assert f"{version} {objection}" in found["clang on PATH"]


def test_newest_clang_is_chosen_when_there_are_several(tmp_path: Path) -> None:
    for number in (19, 21):
        name = tmp_path / "bin" / f"clang++-{number}"
        write_compiler(name, version=f"clang version {number}.1.0", lld="/bin/sh")
    assert probe(tmp_path)["chosen"] == str(tmp_path / "bin" / "clang++-21")


def test_compiler_is_passed_over_when_it_does_not_run(tmp_path: Path) -> None:
    broken = tmp_path / "packages" / "ziglang" / "zig"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"not a program")
    broken.chmod(0o755)
    assert "does not run: " in probe(tmp_path)["Python package ziglang"]
