"""``kernel-builder doctor``: print which tools were found, and why these."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_json, print_json
from kernelmill.builder.diagnosis import diagnose

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.diagnosis import Diagnosis
    from kernelmill.builder.toolchain.programs import Program

HELP = "print every tool that was looked for, which one is used, and why"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the tools; status 3 when one is missing that every build needs."""
    diagnosis = diagnose(os.environ, python=sys.executable)
    if args.json:
        print_json(_as_json(diagnosis))
    else:
        for tool in diagnosis.tools:
            print("\n".join(_as_lines(tool)))
        print(f"compilers at once: {diagnosis.jobs}")
        missing = ", ".join(diagnosis.missing)
        print(f"nothing can be built: no {missing}" if missing else "ready to build")
    return 3 if diagnosis.missing else 0


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
            for tool in diagnosis.tools
        ],
        "jobs": diagnosis.jobs,
        "missing": list(diagnosis.missing),
    }


def _as_lines(tool: Program) -> list[str]:
    lines = [f"{tool.name}:"]
    for candidate in tool.candidates:
        verdict = candidate.problem or candidate.version or "found"
        mark = "used" if candidate is tool.chosen else "no" if candidate.problem else "also"
        place = f"{candidate.source} {candidate.path}".rstrip()
        lines.append(f"  {mark:5}{place}: {verdict}")
    return lines
