from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import hip_trial, program, toolchain, write_kernel

from kernelmill.builder.backends import rules_for
from kernelmill.builder.compile import (
    Workspace,
    compile_project,
    configure_command,
    error_excerpts,
    step_of,
)
from kernelmill.builder.errors import BuildKilled, CompileError
from kernelmill.builder.hip.errors import HipSourceError
from kernelmill.builder.pipeline import build_environment
from kernelmill.builder.plan import plan_build
from kernelmill.builder.sources import read_tree
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from pathlib import Path

GCC_LOG = """\
[1/3] Building CXX object CMakeFiles/kernel_relu_cpu.dir/relu/relu.cpp.o
[2/3] Building CXX object CMakeFiles/x.dir/torch-ext/binding.cpp.o
FAILED: [code=1] CMakeFiles/x.dir/torch-ext/binding.cpp.o
/usr/bin/c++ -DCPU_KERNEL -o binding.cpp.o -c binding.cpp
/k/torch-ext/binding.cpp: In function 'void f()':
/k/torch-ext/binding.cpp:5:3: error: 'nothing' was not declared in this scope
    5 |   nothing;
      |   ^~~~~~~
ninja: build stopped: subcommand failed.
"""
LINK_LOG = """\
FAILED: [code=1] _x.abi3.so
: && /usr/bin/c++ -shared -o _x.abi3.so
/usr/bin/ld: relu.o: in function `relu': undefined reference to `helper()'
collect2: error: ld returned 1 exit status
"""
CMAKE_LOG = """\
-- The CXX compiler identification is GNU 12.2.0
CMake Error at cmake/kernel.cmake:40 (message):
  this project was made for torch 2.12, found 2.13: run `kernel-builder
  create-pyproject --force` again
"""


def test_error_excerpts_hold_the_compilers_words_and_not_the_command() -> None:
    assert error_excerpts(GCC_LOG.splitlines()) == (
        "/k/torch-ext/binding.cpp:5:3: error: 'nothing' was not declared in this scope\n"
        "    5 |   nothing;\n"
        "      |   ^~~~~~~"
    )


@pytest.mark.parametrize(
    ("log", "words"),
    [
        pytest.param(LINK_LOG, "undefined reference to `helper()'", id="linker"),
        pytest.param(CMAKE_LOG, "made for torch 2.12, found 2.13", id="cmake"),
        pytest.param("it\njust\nstopped\n", "it\njust\nstopped", id="unknown"),
    ],
)
def test_error_excerpts_find_what_other_tools_say(log: str, words: str) -> None:
    assert words in error_excerpts(log.splitlines())


def test_error_excerpts_are_few_when_errors_are_many() -> None:
    log = [f"a.cpp:{line}:1: error: no" for line in range(300)]
    assert len(error_excerpts(log).splitlines()) == 3


@pytest.mark.parametrize(
    ("line", "step"),
    [
        pytest.param(
            "[1/3] Building CXX object CMakeFiles/x.dir/a/relu.cpp.o",
            "[1/3] compile relu.cpp",
            id="compile",
        ),
        pytest.param(
            "[3/3] Linking CXX shared module _x.abi3.so", "[3/3] link _x.abi3.so", id="link"
        ),
        pytest.param(
            "[4/8] Compiling _/_/_/relu/relu.hip for gfx942",
            "[4/8] compile relu/relu.hip for gfx942",
            id="device",
        ),
        pytest.param("[5/8] Bundling _/relu.hip", "[5/8] bundle relu.hip", id="bundle"),
        pytest.param("relu.cpp:1:1: warning: no", "", id="no-step"),
    ],
)
def test_step_of(line: str, step: str) -> None:
    assert step_of(line) == step


def fake_build(tmp_path: Path, script: str) -> None:
    """Run a build whose CMake is a shell script."""
    cmake = tmp_path / "cmake"
    cmake.write_text(f"#!/bin/sh\n{script}\n")
    cmake.chmod(0o755)
    tools = toolchain(cmake=program("cmake", str(cmake)))
    tree = read_tree(write_kernel(tmp_path / "kernel"))
    compile_project(
        plan_build(tree, tools, rules_for(Backend.CPU)),
        tools,
        Workspace(root=tree.root, folder=tmp_path / "work"),
        env=build_environment(os.environ),
        on_line=lambda _: None,
    )


def test_compile_shows_the_error_and_keeps_the_log(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"relu.cpp:1:1: error: no") as caught:
        fake_build(tmp_path, "seq 400\necho 'relu.cpp:1:1: error: no'\nexit 1")
    log = tmp_path / "work/build.log"
    assert str(log) in caught.value.hint
    assert len(str(caught.value).splitlines()) < 6
    assert len(log.read_text().splitlines()) == 402
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("kill -9 $$", id="cmake-itself"),
        pytest.param(
            "echo 'c++: fatal error: Killed signal terminated program cc1plus'; exit 1",
            id="a-compiler",
        ),
    ],
)
def test_compile_says_that_memory_ran_out_when_a_compiler_was_killed(
    tmp_path: Path, script: str
) -> None:
    with pytest.raises(BuildKilled, match="killed, probably because memory ran out") as caught:
        fake_build(tmp_path, script)
    assert "MAX_JOBS=1" in caught.value.hint
    assert caught.value.exit_code == 3


def test_compile_does_not_take_a_name_for_a_signal(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="'Killed' was not declared"):
        fake_build(tmp_path, "echo \"a.cpp:1:1: error: 'Killed' was not declared\"; exit 1")


def test_compile_names_the_part_of_hip_that_is_missing(tmp_path: Path) -> None:
    line = "/k/relu.hip:3:10: fatal error: 'rocwmma/rocwmma.hpp' file not found"
    with pytest.raises(
        HipSourceError, match=r"'rocwmma/rocwmma\.hpp' is not among the HIP headers"
    ):
        fake_build(tmp_path, f'echo "{line}"; exit 1')


def test_compile_starts_afresh_when_the_tools_changed(tmp_path: Path) -> None:
    leftover = tmp_path / "work/cmake/CMakeCache.txt"
    fake_build(tmp_path, "exit 0")
    leftover.write_text("configured")
    fake_build(tmp_path, "exit 0")
    assert leftover.exists()
    (tmp_path / "work/cmake/configured-with").write_text("another compiler")
    fake_build(tmp_path, "exit 0")
    assert not leftover.exists()


def test_configure_command_uses_ccache_only_when_it_is_there(tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path))
    workspace = Workspace(root=tree.root, folder=tmp_path / "work")
    plain, cached = toolchain(), toolchain(ccache=program("ccache", "/usr/bin/ccache"))
    plan = plan_build(tree, plain, rules_for(Backend.CPU))
    launcher = "-DCMAKE_CXX_COMPILER_LAUNCHER=/usr/bin/ccache"
    assert launcher not in configure_command(plan, plain, workspace)
    assert launcher in configure_command(plan, cached, workspace)


def test_configure_command_names_the_hip_compiler_for_rocm(tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path))
    plan = plan_build(tree, toolchain(), rules_for(Backend.ROCM))
    command = configure_command(
        plan, toolchain(), Workspace(root=tree.root, folder=tmp_path / "work")
    )
    assert "-DHIP_CROSS_COMPILER=/opt/clang++" in command
    assert "-DKERNEL_BACKEND=rocm" in command


def test_configure_command_names_the_hip_compiler_that_knows_the_arch(tmp_path: Path) -> None:
    newer = hip_trial("gfx942", command="/opt/newer")
    tools = toolchain(hip=(hip_trial("gfx90a"), newer))
    tree = read_tree(write_kernel(tmp_path))
    plan = plan_build(tree, tools, rules_for(Backend.ROCM))
    command = configure_command(plan, tools, Workspace(root=tree.root, folder=tmp_path / "work"))
    assert plan.archs == ("gfx942",)
    assert "-DHIP_CROSS_COMPILER=/opt/newer" in command


def test_build_environment_fixes_what_would_change_bytes() -> None:
    env = build_environment({"LC_ALL": "de_DE.UTF-8", "PATH": "/bin"})
    assert env == {
        "LC_ALL": "C",
        "TZ": "UTC",
        "PATH": "/bin",
        "NINJA_STATUS": "[%f/%t] ",
        "SOURCE_DATE_EPOCH": "315532800",
    }
    assert build_environment({"SOURCE_DATE_EPOCH": "7"})["SOURCE_DATE_EPOCH"] == "7"
