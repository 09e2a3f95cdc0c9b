"""Benchmark scripts: finding them, and the classes in them. Importing one runs it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.benchmark.case import Benchmark
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER: Final = "benchmarks"
PATTERN: Final = "benchmark*.py"


def find_scripts(root: Path, *, where: str) -> tuple[Path, ...]:
    """Return the benchmark scripts of the kernel repository at ``root``.

    Raises:
        InputError: there are none.
    """
    scripts = tuple(sorted((root / FOLDER).glob(PATTERN)))
    if not scripts:
        raise InputError(
            f"no benchmark scripts found in '{where}/{FOLDER}'",
            hint=f"a script is named {PATTERN}, and its class extends kernels.benchmark.Benchmark",
        )
    return scripts


def read_classes(script: Path, *, root: Path) -> tuple[type[Benchmark], ...]:
    """Import a script, with ``root`` as the working folder, and return the classes it defines.

    No bytecode is written: the script may lie in a shared cache.
    """
    module = ModuleType(f"kernel_{script.stem}")
    module.__file__ = str(script)
    code = compile(script.read_bytes(), str(script), "exec", dont_inherit=True)
    sys.modules[module.__name__] = module  # dataclasses look for it there
    with _working_in(root):
        exec(code, module.__dict__)
    return tuple(
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Benchmark)
        and value.__module__ == module.__name__
    )


def workloads_of(case: type[Benchmark]) -> tuple[str, ...]:
    """Return the names of a class's workloads, sorted.

    Raises:
        InputError: it has none.
    """
    prefix = "benchmark_"
    names = tuple(
        name.removeprefix(prefix)
        for name in dir(case)
        if name.startswith(prefix) and callable(getattr(case, name))
    )
    if not names:
        raise InputError(
            f"No benchmark_* methods found in {case.__name__}",
            hint="name the method to time benchmark_<workload>",
        )
    return names


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = os.getcwd()  # noqa: PTH109 - to go back to
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
