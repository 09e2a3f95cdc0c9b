"""``kernel-builder doctor``: print which tools were found, and why these."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from kernelmill.builder.cli.options import add_json, print_json
from kernelmill.builder.diagnosis import diagnose
from kernelmill.builder.jobs import JOB_BYTES
from kernelmill.builder.wording import count_of

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.diagnosis import Diagnosis
    from kernelmill.builder.toolchain.programs import Program

GIB: Final = 1024**3
HELP = "print every tool that was looked for, which one is used, and why"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--verify", action="store_true", help="compare every SDK with its hash, too"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print what was found; status 3 when something is missing or damaged."""
    diagnosis = diagnose(os.environ, python=sys.executable, verifies=args.verify)
    damaged = [it.sdk.record.name for it in diagnosis.sdks if it.problem]
    if args.json:
        print_json(_as_json(diagnosis))
    else:
        for tool in diagnosis.all_tools:
            print("\n".join(_as_lines(tool)))
        print("\n".join([*_sdk_lines(diagnosis), _capacity_line(diagnosis)]))
        missing = ", ".join(diagnosis.missing)
        print(f"nothing can be built: no {missing}" if missing else "ready to build")
    return 3 if diagnosis.missing or damaged else 0


def _as_json(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "tools": [
            {
                "name": tool.name,
                "chosen": tool.chosen.path if tool.chosen else None,
                "candidates": [
                    {"source": c.source, "path": c.path, "version": c.version, "problem": c.problem}
                    for c in tool.candidates
                ],
            }
            for tool in diagnosis.all_tools
        ],
        "store": str(diagnosis.store.folder),
        "sdks": [
            {
                "name": it.sdk.record.name,
                "size-bytes": it.size_bytes,
                "verified": None if it.problem is None else not it.problem,
                "problem": it.problem or "",
            }
            for it in diagnosis.sdks
        ],
        "cores": diagnosis.capacity.cores,
        "memory-bytes": diagnosis.capacity.memory_bytes,
        "max-jobs": diagnosis.capacity.override,
        "jobs": diagnosis.jobs,
        "missing": list(diagnosis.missing),
    }


def _sdk_lines(diagnosis: Diagnosis) -> list[str]:
    lines = [f"SDKs in {diagnosis.store.folder}:"]
    for it in diagnosis.sdks:
        verdict = "not verified: see --verify" if it.problem is None else it.problem or "verified"
        lines.append(f"  {it.sdk.record.name}  {it.size_bytes / 1e6:.1f} MB  {verdict}")
    return lines if diagnosis.sdks else [f"{lines[0]} none; `kernel-builder sdk list` has all"]


def _capacity_line(diagnosis: Diagnosis) -> str:
    capacity = diagnosis.capacity
    limits = f"{count_of(capacity.cores, 'core')}, {capacity.memory_bytes / GIB:.1f} GiB free"
    if capacity.override is not None:
        return f"compilers at once: {diagnosis.jobs}, as MAX_JOBS says ({limits})"
    return f"compilers at once: {diagnosis.jobs} ({limits}, {JOB_BYTES // GIB} GiB for each)"


def _as_lines(tool: Program) -> list[str]:
    lines = [f"{tool.name}:"]
    for candidate in tool.candidates:
        verdict = candidate.problem or candidate.version or "found"
        mark = "used" if candidate is tool.chosen else "no" if candidate.problem else "also"
        place = f"{candidate.source} {candidate.path}".rstrip()
        lines.append(f"  {mark:5}{place}: {verdict}")
    return lines
