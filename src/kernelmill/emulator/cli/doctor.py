"""``kernel-emulator doctor``: try each part of the emulator, and say what is missing."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from kernelmill.binary.disassembly import disassemble
from kernelmill.emulator.device.extension import ensure_extension, read_torch_version
from kernelmill.emulator.device.launcher import child_environment
from kernelmill.emulator.device.settings import Settings, read_settings
from kernelmill.emulator.hip_runtime.library import ensure_runtimes
from kernelmill.emulator.hip_runtime.properties import TARGET
from kernelmill.spec.errors import HostError, KernelError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

HELP: Final = "try each part of the emulator, and say what is missing"
TIMEOUT_S: Final = 120
END_PROGRAM: Final = bytes.fromhex("000081bf")
PROGRAM: Final = """\
import torch
x = torch.arange(3.0, device="cuda")
print(torch.cuda.get_device_name(), (x + x).tolist())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One part, and what came of trying it."""

    name: str
    is_fine: bool
    text: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Try everything; the status is 3 when something is missing."""
    settings = read_settings(os.environ)
    checks = [
        try_part("HIP runtime stand-in", lambda: check_runtime(settings)),
        try_part("disassembler", check_disassembler),
        try_part("PyTorch", check_torch),
        try_part("emulated device", lambda: check_extension(settings)),
        try_part("torch.cuda", lambda: check_device(settings)),
    ]
    is_fine = all(check.is_fine for check in checks)
    if args.json:
        print(json.dumps({"version": 1, "is_fine": is_fine, "checks": [*map(asdict, checks)]}))
    else:
        for check in checks:
            print(f"{'ok ' if check.is_fine else 'NO '} {check.name}: {check.text}")
    return 0 if is_fine else HostError.exit_code


def try_part(name: str, attempt: Callable[[], str]) -> Check:
    """Return what ``attempt`` says, or why it failed."""
    try:
        return Check(name=name, is_fine=True, text=attempt())
    except KernelError as error:
        return Check(name=name, is_fine=False, text=str(error))


def check_runtime(settings: Settings) -> str:
    """Compile the stand-in."""
    paths = ensure_runtimes(settings.cache, path=settings.path)
    return ", ".join(map(str, paths.values()))


def check_disassembler() -> str:
    """Disassemble one instruction."""
    (instruction,) = disassemble(END_PROGRAM, target=TARGET)
    return f"knows {instruction.mnemonic} of {TARGET}"


def torch_folder() -> Path:
    """Return where torch is, without importing it.

    Raises:
        HostError: it is not installed.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise HostError("PyTorch is not installed", hint="pip install torch, a CPU build")
    return Path(spec.origin).parent


def check_torch() -> str:
    """Find PyTorch."""
    return read_torch_version(torch_folder())


def check_extension(settings: Settings) -> str:
    """Compile the device for it."""
    return str(ensure_extension(torch_folder(), settings))


def check_device(settings: Settings) -> str:
    """Use the device from another process.

    Raises:
        HostError: that process fails.
    """
    runtimes = ensure_runtimes(settings.cache, path=settings.path)
    with TemporaryDirectory(prefix="kernel-emulator-") as folder:
        environ = child_environment(
            os.environ,
            settings=settings,
            runtimes=runtimes.values(),
            log_folder=Path(folder),
            sanitize=False,
        )
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environ,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    if done.returncode:
        raise HostError(f"a process with the device fails: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()
