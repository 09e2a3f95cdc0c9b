"""Compile a program with a bug in it, launch it in the emulator, and compare with NumPy."""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from tests.integration.device_code import FLAGS, HEADERS, Device, compile_device_code
from tests.planted.values import FAULT, WRONG_RESULT, Outcome, Struct, Verdict

from kernelmill.binary.code_object import CodeObject, read_code_objects
from kernelmill.builder.hip.probe import probe_hip_compilers
from kernelmill.builder.hip.toolchain import require
from kernelmill.emulator.errors import DeviceFault
from kernelmill.emulator.loading import load, load_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.planted.values import Array, Bug, Program, Setup

    from kernelmill.builder.hip.toolchain import HipToolchain
    from kernelmill.emulator.report import DispatchReport

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = ROOT / ".cache" / "planted"
OPTIMISE: Final = "-O3"


def try_bug(program: Program, bug: Bug) -> Verdict:
    """Plant ``bug`` and return what the emulator says."""
    code = compile_program(program, bug.edits)
    if bug.word is not None:
        code = with_word(code, *bug.word)
    for name in bug.setups or ("",):
        setup = make_setup(program, name)
        verdict = Verdict(bug=bug, outcome=launch(code, bug.change(setup) if bug.change else setup))
        if verdict.is_right:
            break
    return verdict


def launch_clean(program: Program, setup: str) -> Outcome:
    """Launch a program without a bug."""
    return launch(compile_program(program), make_setup(program, setup))


@cache
def compiler() -> HipToolchain:
    """Return zig's clang: which instructions there are to change depends on the compiler."""
    trials = probe_hip_compilers(
        environ={}, path_entries=(), package_folders=sys.path, opt_folder=Path(os.devnull)
    )
    return require(trials)


@cache
def make_setup(program: Program, name: str = "") -> Setup:
    """Return one of the program's launches; the first by default."""
    return program.setups[name or next(iter(program.setups))]()


@cache
def compile_program(program: Program, edits: tuple[tuple[str, str], ...] = ()) -> CodeObject:
    """Return the code of a program after ``edits`` of its source; compiled once for all time."""
    path = ROOT / program.source
    text = edited(path.read_text(encoding="utf-8"), edits, where=program.source)
    kept = CACHE / f"{_key(path, text, program.flags)}.co"
    if not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as name:
            folder = Path(name)
            source = folder / path.name
            source.write_text(text, encoding="utf-8")
            flags = (OPTIMISE, f"-I{path.parent}", *program.flags)
            finished = folder / "finished"
            finished.write_bytes(
                compile_device_code(source, folder, *flags, with_compiler=compiler().command)
            )
            finished.replace(kept)
    return read_code_objects(kept.read_bytes(), where=path.name)[0]


def edited(text: str, edits: Sequence[tuple[str, str]], *, where: str) -> str:
    """Return ``text`` with each old text replaced by its new one.

    Raises:
        ValueError: an old text does not occur exactly once.
    """
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{where}: occurs {text.count(old)} times, want 1: {old!r}")
        text = text.replace(old, new)
    return text


def _key(path: Path, text: str, flags: Sequence[str]) -> str:
    """Return what a compiled source is kept under: all that it depends on."""
    digest = hashlib.sha256()
    for part in (text, compiler().version_text, *FLAGS, OPTIMISE, *flags):
        digest.update(part.encode() + b"\0")
    for header in (*sorted(path.parent.glob("*.h")), *sorted(HEADERS.rglob("*.h"))):
        digest.update(header.read_bytes() + b"\0")
    return digest.hexdigest()


def with_word(code: CodeObject, address: int, word: int) -> CodeObject:
    """Return a code object whose 32 bits at ``address`` are ``word``."""
    data = bytearray(code.elf.data)
    struct.pack_into("<I", data, code.elf.offset_of(address, "an instruction"), word)
    return read_code_objects(bytes(data), where=code.elf.where)[0]


def launch(code: CodeObject, setup: Setup) -> Outcome:
    """Launch the only kernel of ``code``, sanitized."""
    started = time.process_time()
    device = Device(code)
    places = _place(device, setup)
    for name in sorted(setup.freed):
        device.memory.free(places[name])
    kinds, details = set(), []
    try:
        report = _launch(device, setup, places, sanitize=True)
    except DeviceFault as fault:
        kinds.add(FAULT)
        details.append(str(fault))
    else:
        kinds |= {finding.kind for finding in report.findings}
        details += map(str, report.findings)
        wrong = [] if setup.freed else _compare(device, setup, places)
        kinds |= {WRONG_RESULT} if wrong else set()
        details += wrong
    seconds = time.process_time() - started
    return Outcome(kinds=frozenset(kinds), details=tuple(details), seconds=seconds)


def executed_addresses(program: Program, setup: str) -> frozenset[int]:
    """Return the addresses of the instructions that a launch of the clean program executes."""
    code, made = compile_program(program), make_setup(program, setup)
    device = Device(code)
    places = _place(device, made)
    _launch(device, made, places, sanitize=False)
    blocks = load_kernel(load(code, device.memory), code.kernels[0])
    return frozenset(
        item.instruction.address for block in blocks.built if block.waves for item in block.decoded
    )


def _launch(
    device: Device, setup: Setup, places: Mapping[str, int], *, sanitize: bool
) -> DispatchReport:
    return device.launch(
        device.code.kernels[0].name,
        *(_argument(item, places) for item in setup.arguments),
        grid=setup.grid,
        block=setup.block,
        dynamic_lds_bytes=setup.lds_bytes,
        sanitize=sanitize,
    )


def _place(device: Device, setup: Setup) -> dict[str, int]:
    """Allocate and fill the buffers; return their addresses."""
    places = {}
    for name, values in {**setup.expected, **setup.inputs}.items():
        size = values.nbytes - setup.missing_bytes.get(name, 0)
        places[name] = device.memory.allocate(max(size, 1), label=name)
        if size and name in setup.inputs and name not in setup.fresh:
            octets = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
            device.memory.view(places[name], size)[:] = octets[:size]
    return places


def _argument(item: str | int | Struct, places: Mapping[str, int]) -> int | bytes:
    if isinstance(item, Struct):
        fields = (places[field] if isinstance(field, str) else field for field in item.fields)
        return struct.pack(item.format, *fields)
    return places[item] if isinstance(item, str) else item


def _compare(device: Device, setup: Setup, places: Mapping[str, int]) -> list[str]:
    """Return a line for each buffer that holds the wrong numbers."""
    lines = []
    for name, expected in setup.expected.items():
        if setup.missing_bytes.get(name):
            continue
        found = device.get(places[name], expected.size, expected.dtype.str)
        wrong = _differs(found.reshape(expected.shape), expected, setup.tolerance)
        if wrong.any():
            lines.append(f"{name}: {int(wrong.sum())} of {wrong.size} numbers are wrong")
    return lines


def _differs(found: Array, expected: Array, tolerance: float) -> Array:
    if not tolerance:
        return np.asarray(found != expected)
    limit = tolerance * float(np.abs(_numbers(expected)).max())
    return np.asarray(~(np.abs(_numbers(found) - _numbers(expected)) <= limit))


def _numbers(values: Array) -> Array:
    """Return values as float64; uint16 holds the bits of bfloat16."""
    if values.dtype == np.uint16:
        values = (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return np.asarray(values.astype(np.float64))
