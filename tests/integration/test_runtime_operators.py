"""Kernels that register operators: PyTorch refuses a namespace that is defined twice (L2, R16)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.unit.runtime.kernel_files import kernel_files, write_files

ROOT: Final = Path(__file__).resolve().parents[2]
OPERATORS: Final = """\
import os
import torch

library = torch.library.Library(__name__, "DEF")
library.define("scale(Tensor x) -> Tensor")
library.impl("scale", lambda x: FACTOR * x, "CPU")
if os.environ.get("TOY_FAILS"):
    raise RuntimeError("halfway")
ops = getattr(torch.ops, __name__)
"""
SCRIPT: Final = """\
import os, sys, threading
import torch
from kernelmill.runtime.api import get_local_kernel, get_loaded_kernels

two, three, copy = sys.argv[1:]
os.environ["TOY_FAILS"] = "1"
try:
    get_local_kernel(two)
except RuntimeError as error:
    print("failed:", error)
assert not get_loaded_kernels()
del os.environ["TOY_FAILS"]

found = []
load = lambda folder: found.append(get_local_kernel(folder))
threads = [threading.Thread(target=load, args=[it]) for it in (two, copy, three, two, copy)]
for each in threads: each.start()
for each in threads: each.join()
print(len(found), "loaded,", len({id(it) for it in found}), "modules")
print(get_local_kernel(two) is get_local_kernel(copy))
x = torch.ones(2)
print([get_local_kernel(it).ops.scale(x)[0].item() for it in (two, three, copy)])
"""


def test_builds_share_a_process_without_an_abort(tmp_path: Path) -> None:
    folders = []
    for name, factor in (("two", 2), ("three", 3), ("copy", 2)):
        source = f"FACTOR = {factor}\n{OPERATORS}"
        build = kernel_files(sources={"__init__.py": source})
        folders.append(write_files(tmp_path / name / "torch-cpu", build).parent)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, folders)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout.splitlines() == [
        "failed: halfway",
        "5 loaded, 2 modules",
        "True",
        "[2.0, 3.0, 2.0]",
    ], done.stderr
    assert done.returncode == 0
