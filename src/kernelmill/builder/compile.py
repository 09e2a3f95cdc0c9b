"""Run CMake and Ninja on a generated project, and say what went wrong in the compiler's words."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.builder.backends import rules_for
from kernelmill.builder.errors import BuildKilledError, CompileError
from kernelmill.builder.hip.diagnosis import explain_failure
from kernelmill.builder.toolchain import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.errors import KernelError

NINJA_STATUS = "[%f/%t] "
_STEP = re.compile(r"\[(\d+)/(\d+)\] (.*)")
_ERROR = re.compile(r"(?:fatal )?error: |: undefined (?:reference|symbol)|^CMake Error|^error: ")
_KILLED = re.compile(r"Killed signal terminated|signal 9|\bKilled\b|: signal: 9")
_END_OF_EXCERPT = re.compile(r"^(\[\d+/\d+\]|FAILED:|ninja: |.*: (?:warning|note): )")
_EXCERPTS = 3
_EXCERPT_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Where one variant is built. Kept between builds, so that only changes are compiled again."""

    root: Path
    """The kernel's folder."""
    folder: Path

    @property
    def project(self) -> Path:
        """The generated project."""
        return self.folder / "project"

    @property
    def binary(self) -> Path:
        """CMake's and Ninja's own folder."""
        return self.folder / "cmake"

    @property
    def log(self) -> Path:
        """Everything that the tools printed."""
        return self.folder / "build.log"

    @property
    def stage(self) -> Path:
        """Where the finished variant is put together."""
        return self.folder / "stage"


def compile_project(
    plan: BuildPlan,
    toolchain: Toolchain,
    workspace: Workspace,
    *,
    env: Mapping[str, str],
    on_step: Callable[[str], None],
) -> None:
    """Configure, compile and install ``workspace.project`` into ``workspace.stage``.

    Args:
        plan: what is built.
        toolchain: the tools.
        workspace: the project must be there.
        env: the environment of every tool.
        on_step: called with one line of progress for each finished step.

    Raises:
        CompileError: a tool refused the sources; holds its first errors and the log's place.
        HipSourceError: a source uses a part of HIP that cross-compilation lacks.
        BuildKilledError: a compiler was killed by a signal.
        ToolchainError: a tool is missing.
    """
    cmake = require(toolchain.cmake).path
    workspace.binary.mkdir(parents=True, exist_ok=True)
    with workspace.log.open("w", encoding="utf-8") as log:
        for command in (
            configure_command(plan, toolchain, workspace),
            [cmake, "--build", str(workspace.binary), "--parallel", str(plan.jobs)],
            [cmake, "--install", str(workspace.binary), "--prefix", str(workspace.stage)],
        ):
            lines: list[str] = []
            log.write(f"$ {' '.join(command)}\n")
            status = _run(command, env=env, on_line=_tee(log.write, lines.append, on_step))
            if status:
                raise _failure(status, lines, workspace)


def configure_command(plan: BuildPlan, toolchain: Toolchain, workspace: Workspace) -> list[str]:
    """Return the command that configures the project."""
    definitions = {
        "CMAKE_MAKE_PROGRAM": require(toolchain.ninja).path,
        "CMAKE_CXX_COMPILER": require(toolchain.cxx).path,
        "Python3_EXECUTABLE": toolchain.torch.python,
        "KERNEL_ROOT": workspace.root,
        "KERNEL_BACKEND": plan.backend,
        **rules_for(plan.backend).tool_settings(toolchain),
    }
    if toolchain.ccache.chosen:
        definitions["CMAKE_CXX_COMPILER_LAUNCHER"] = toolchain.ccache.chosen.path
    return [
        require(toolchain.cmake).path,
        *("-S", str(workspace.project), "-B", str(workspace.binary), "-G", "Ninja"),
        *(f"-D{name}={value}" for name, value in definitions.items()),
    ]


def error_excerpts(lines: Sequence[str]) -> str:
    """Return the first errors in a tool's output, each with the source lines shown below it."""
    excerpts: list[str] = []
    for index, line in enumerate(lines):
        if _ERROR.search(line) and len(excerpts) < _EXCERPTS:
            excerpts.append("\n".join([line, *_continuation(lines[index + 1 :])]))
    return "\n".join(excerpts) or "\n".join(lines[-_EXCERPT_LINES:])


def _continuation(lines: Sequence[str]) -> list[str]:
    shown: list[str] = []
    for line in lines[:_EXCERPT_LINES]:
        if _END_OF_EXCERPT.match(line) or _ERROR.search(line):
            break
        shown.append(line)
    return shown


def _tee(
    write: Callable[[str], object], keep: Callable[[str], None], on_step: Callable[[str], None]
) -> Callable[[str], None]:
    def on_line(line: str) -> None:
        write(line)
        keep(line.rstrip("\n"))
        if step := _STEP.match(line):
            on_step(f"[{step[1]}/{step[2]}] {_readable(step[3])}")

    return on_line


def _readable(step: str) -> str:
    """Shorten ``Building CXX object CMakeFiles/x.dir/a/b/relu.cpp.o`` to ``compile relu.cpp``."""
    name = step.rsplit(maxsplit=1)[-1].rpartition("/")[2]
    if step.startswith("Building"):
        return f"compile {name.removesuffix('.o')}"
    if step.startswith("Linking"):
        return f"link {name}"
    return step.replace("_/", "")  # device sources are named from the project's folder


def _run(command: Sequence[str], *, env: Mapping[str, str], on_line: Callable[[str], None]) -> int:
    with subprocess.Popen(
        command,
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                on_line(line)
        except BaseException:
            process.terminate()
            raise
    return process.returncode


def _failure(status: int, lines: Sequence[str], workspace: Workspace) -> KernelError:
    log = f"the whole log is in {workspace.log}"
    if status < 0 or any(_KILLED.search(line) for line in lines):
        return BuildKilledError(
            "a compiler was killed, probably because memory ran out",
            where=str(workspace.log),
            hint="run fewer at once: MAX_JOBS=1",
        )
    if explained := explain_failure("\n".join(lines)):
        return explained
    return CompileError(f"the build failed:\n{error_excerpts(lines)}", hint=log)
