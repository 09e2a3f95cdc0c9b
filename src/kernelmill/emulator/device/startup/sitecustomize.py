"""Run by every Python that ``kernel-emulator run`` starts: this folder is first on its path.

Turns the emulated device on, then runs the ``sitecustomize`` that would have run without it.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

# ruff: noqa: PLC0415, T201 - an import may fail here; no program has set up logging yet


def _activate() -> None:
    try:
        from kernelmill.emulator.device.activate import activate
        from kernelmill.emulator.device.settings import read_settings
        from kernelmill.spec.errors import KernelError
    except ImportError as error:
        # Another environment's Python, perhaps of a tool that has nothing to do with kernels.
        print(
            f"kernel-emulator: {sys.executable} cannot import kernelmill ({error}): it runs"
            " without the emulated device",
            file=sys.stderr,
        )
        return
    try:
        settings = read_settings(os.environ)
        if settings.is_active:
            activate(settings)
    except KernelError as error:
        # Python would print any other exception and go on, without a device.
        print(f"kernel-emulator: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error


def _run_next() -> None:
    own = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs 10 ms
    sys.path[:] = [entry for entry in sys.path if entry != own]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import_module("sitecustomize")  # the next one on the path
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


_activate()
_run_next()
