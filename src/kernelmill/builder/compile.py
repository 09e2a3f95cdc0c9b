"""Run CMake and Ninja on a generated project, and say what went wrong in the compiler's words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.backends import rules_for
from kernelmill.builder.cuda.diagnosis import explain_failure as explain_cuda
from kernelmill.builder.errors import BuildKilled, CompileError, ToolchainError
from kernelmill.builder.hip.diagnosis import explain_failure as explain_hip
from kernelmill.builder.toolchain import require
from kernelmill.builder.toolchain.running import run_program
from kernelmill.spec.backend import Backend
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.errors import KernelError

OUR_WARNING = re.compile(r"(?:torch|tvm-ffi)[\w-]*: warning: ")
"""A warning of the builder itself: it starts with the name of the variant."""
_STEP = re.compile(r"\[(\d+)/(\d+)\] (.*)")
_ERROR = re.compile(r"(?:fatal )?error: |: undefined (?:reference|symbol)|^CMake Error|^error: ")
_KILLED = re.compile(r"Killed signal terminated|\bsignal 9\b|^Killed\s*$")
_END_OF_EXCERPT = re.compile(r"^(\[\d+/\d+\]|FAILED:|ninja: |.*: (?:warning|note): )")
COPIES = "hipified"
"""Where in CMake's folder the translated copies of CUDA sources are."""
_EXCERPTS = 3
_WORKING_COMPILER = {"CMAKE_CXX_COMPILER_WORKS": "1", "CMAKE_CXX_ABI_COMPILED": "1"}
"""Keeps CMake from compiling and linking a program to see whether that works: half of the time that
it takes. What it would learn is used for GPUs only."""
_BUILD_FILE = "build.ninja"
"""Written at the very end of a configuration that went well."""
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

    def original(self, path: Path) -> Path:
        """Return the source whose translated copy ``path`` is, or ``path``."""
        copies = self.binary / COPIES
        return self.root / path.relative_to(copies) if path.is_relative_to(copies) else path

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
    on_line: Callable[[str], None],
) -> None:
    """Configure, compile and install ``workspace.project`` into ``workspace.stage``.

    Args:
        plan: what is built.
        toolchain: the tools.
        workspace: the project must be there.
        env: the environment of every tool.
        on_line: called with each line that a tool prints.

    Raises:
        CompileError: a tool refused the sources; holds its first errors and the log's place.
        HipSourceError: a source uses a part of HIP that cross-compilation lacks.
        BuildKilled: a compiler was killed by a signal.
        ToolchainError: a tool is missing.
    """
    cmake, ninja = require(toolchain.cmake).path, require(toolchain.ninja).path
    configure = configure_command(plan, toolchain, workspace)
    _ensure_usable_cache(configure, workspace)
    # Ninja configures again by itself when a file of the project changed.
    is_configured = (workspace.binary / _BUILD_FILE).exists()
    with workspace.log.open("w", encoding="utf-8") as log:
        for command in (
            *(() if is_configured else (configure,)),
            [ninja, "-C", str(workspace.binary), "-j", str(plan.jobs)],
            [cmake, "--install", str(workspace.binary), "--prefix", str(workspace.stage)],
        ):
            lines: list[str] = []
            log.write(f"$ {' '.join(command)}\n")
            status = run_program(command, env=env, on_line=_tee(log.write, lines.append, on_line))
            if status:
                raise _failure(status, lines, workspace, plan)


def configure_command(plan: BuildPlan, toolchain: Toolchain, workspace: Workspace) -> list[str]:
    """Return the command that configures the project."""
    definitions = {
        "CMAKE_MAKE_PROGRAM": require(toolchain.ninja).path,
        "CMAKE_CXX_COMPILER": require(toolchain.cxx).path,
        "Python3_EXECUTABLE": toolchain.python,
        **({"KERNEL_TORCH": plan.torch.sdk} if plan.torch else {}),
        "KERNEL_ABI_STUBS": plan.abi_stubs.tree if plan.abi_stubs else "",
        "KERNEL_ROOT": workspace.root,
        "KERNEL_BACKEND": plan.backend,
        **rules_for(plan.backend).tool_settings(plan, toolchain),
    }
    if plan.backend is Backend.CPU:
        definitions |= _WORKING_COMPILER
    if toolchain.ccache.chosen:
        definitions["CMAKE_CXX_COMPILER_LAUNCHER"] = toolchain.ccache.chosen.path
    return [
        require(toolchain.cmake).path,
        *("-S", str(workspace.project), "-B", str(workspace.binary), "-G", "Ninja"),
        *(f"-D{name}={value}" for name, value in definitions.items()),
    ]


def _ensure_usable_cache(configure: Sequence[str], workspace: Workspace) -> None:
    """Start afresh when the folder was configured with other tools or at another place.

    CMake cannot change a configured folder's compiler, and refuses one that was moved.
    """
    command = "\n".join(configure)
    record = workspace.binary / "configured-with"
    if not record.is_file() or record.read_text(encoding="utf-8") != command:
        shutil.rmtree(workspace.binary, ignore_errors=True)
        workspace.binary.mkdir(parents=True)
        record.write_text(command, encoding="utf-8")


def step_of(line: str) -> str:
    """Return what a line of Ninja's says in a few words: ``[2/5] compile relu.cpp``, or nothing.

    Our own warnings are short already; those of compilers may be hundreds.
    """
    if OUR_WARNING.match(line):
        return line.rstrip()
    match = _STEP.match(line)
    if match is None:
        return ""
    done, total, text = match.groups()
    name = text.rsplit(maxsplit=1)[-1].rpartition("/")[2].removesuffix(".o")
    if text.startswith("Building"):
        text = f"compile {name}"
    elif text.startswith("Linking"):
        text = f"link {name}"
    for theirs, ours in (("Compiling ", "compile "), ("Bundling ", "bundle ")):
        text = text.replace(theirs, ours)
    # "_/" stands for "../" in the recipe, and copies have the paths of their originals.
    return f"[{done}/{total}] {text.replace('_/', '').replace(f'{COPIES}/', '')}"


def read_dependencies(toolchain: Toolchain, workspace: Workspace) -> frozenset[Path]:
    """Return every file below the kernel's folder that a compiler read in the last build.

    Raises:
        ToolchainError: Ninja does not tell.
    """
    done = subprocess.run(
        [require(toolchain.ninja).path, "-C", str(workspace.binary), "-t", "deps"],
        capture_output=True,
        text=True,
        errors="surrogateescape",  # names of files
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2] or f"status {done.returncode}"
        raise ToolchainError(
            f"ninja does not tell which files the compilers read: {said}",
            where=str(workspace.binary),
            hint="remove that folder, and build again",
        )
    # "object: #deps 12, ..." and below it one file a line, from the folder of the build.
    files = {line.strip() for line in done.stdout.splitlines() if line.startswith("    ")}
    real = (_real_path(os.path.join(workspace.binary, it)) for it in files)  # noqa: PTH118 - below
    below = f"{workspace.root}{os.sep}"
    return frozenset(Path(it) for it in real if it.startswith(below))


def _real_path(path: str) -> str:
    """Return ``path`` without links. Not by ``Path``: of torch's headers there are a thousand."""
    folder, name = os.path.split(path)
    real = f"{_real_folder(folder)}{os.sep}{name}"
    return os.path.realpath(real) if os.path.islink(real) else real  # noqa: PTH114


_real_folder = cache(os.path.realpath)


def error_excerpts(lines: Sequence[str]) -> str:
    """Return the first errors in a tool's output, each with the source lines shown below it."""
    lines = [line.rstrip() for line in lines]
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


def _tee(*sinks: Callable[[str], object]) -> Callable[[str], None]:
    def on_line(line: str) -> None:
        for sink in sinks:
            sink(line)

    return on_line


def _failure(
    status: int, lines: Sequence[str], workspace: Workspace, plan: BuildPlan
) -> KernelError:
    log = f"the whole log is in {workspace.log}"
    if status < 0 or any(_KILLED.search(line) for line in lines):
        return BuildKilled(
            "a compiler was killed, probably because memory ran out",
            where=str(workspace.log),
            hint="run fewer at once: MAX_JOBS=1",
        )
    text, cuda = "".join(lines), plan.variant.compute.version
    is_cuda = plan.backend is Backend.CUDA
    if explained := explain_cuda(text, cuda) if is_cuda and cuda else explain_hip(text):
        return explained
    return CompileError(f"the build failed:\n{error_excerpts(lines)}", hint=log)
