"""What the builder itself warns of is shown without -v, with what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.binary.symbols import Linkage, Reference
from kernelmill.builder.check.manylinux import check_manylinux
from kernelmill.builder.check.policies import read_policies
from kernelmill.builder.cli.progress import TerminalWatcher
from kernelmill.builder.compile import step_of
from kernelmill.builder.runners import Message
from kernelmill.builder.runners.running import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "torch213-cxx11-cpu-x86_64-linux"
OURS = f"{NAME}: warning: relu.cpp:3: no fake implementation"
NAMES: Sequence[str] = [NAME, "torch-stable-abi29-cpu-x86_64-linux"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f"{OURS}\n", OURS),
        (f"{NAMES[1]}: warning: x", f"{NAMES[1]}: warning: x"),
        ("tvm-ffi01-cpu-x86_64-linux: warning: x", "tvm-ffi01-cpu-x86_64-linux: warning: x"),
        ("/src/torch.cpp:1:1: warning: unused", ""),
        ("torch.cpp:1:1: warning: unused", ""),
        ("ninja: warning: premature end of file", ""),
    ],
)
def test_our_warnings_are_shown_and_a_compilers_are_not(line: str, shown: str) -> None:
    assert step_of(line) == shown


def test_a_terminal_keeps_our_warnings_above_the_bars(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalWatcher(NAMES) as watcher:
        watcher.show(Event(0, Message("started", "process 42")))
        watcher.show(Event(0, Message("line", OURS)))
        watcher.show(Event(0, Message("line", "[1/2] compile relu.cpp")))
    assert OURS in capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("floor", "hint"),
    [
        (
            "manylinux_2_28",
            "build again after `kernel-builder sdk fetch abi-stubs-2.28`, or ",
        ),
        ("manylinux_2_17", "build against stubs of older system libraries, or "),
    ],
)
def test_a_module_that_wants_a_newer_system_is_told_what_to_fetch(floor: str, hint: str) -> None:
    wanted = Reference(
        name="__libc_single_threaded", version="GLIBC_2.32", library="libc.so.6", is_weak=False
    )
    linkage = Linkage(soname="", needed=(), runpath=(), rpath=(), undefined=(wanted,), defined=())
    [found] = check_manylinux(linkage, policies=read_policies(), floor=floor, cpu="x86_64")
    assert found.hint.startswith(hint)
