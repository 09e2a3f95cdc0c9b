"""``kernel-emulator run``: run a command whose processes see an emulated AMD GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TextIO

from kernelmill.emulator.device.errors import CommandError
from kernelmill.emulator.device.launcher import (
    child_environment,
    describe_launches,
    read_launches,
    render_profile,
    render_report,
    write_report,
)
from kernelmill.emulator.device.settings import read_settings
from kernelmill.emulator.hip_runtime.library import ensure_runtimes
from kernelmill.emulator.limits import MAX_STEPS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

HELP: Final = "run a command whose processes see an emulated AMD GPU"
EXAMPLE: Final = "kernel-emulator run -- python -m pytest tests"
FINDINGS_STATUS: Final = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help="look for faults in kernels; findings make the exit status 1 where it would be 0",
    )
    parser.add_argument(
        "--profile",
        nargs="?",
        const="",
        metavar="FILE",
        help="count instructions, FLOPs, bytes and LDS cycles of each kernel, emulated or modelled:"
        " a table, and as JSON in FILE (--profile=FILE)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="with --profile: print it as JSON; what the command prints goes to stderr",
    )
    parser.add_argument(
        "--max-instructions",
        type=int,
        metavar="N",
        help="stop a kernel as stuck when waves have run N instructions since one of them ended"
        f" (default {MAX_STEPS:,})",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write every launch to FILE, as JSON"
    )
    parser.add_argument(
        "command", nargs="...", metavar="-- CMD...", help="the command and its arguments"
    )


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    command = check_command(args.command)
    check_options(args)
    settings = read_settings(os.environ)
    runtimes = ensure_runtimes(settings.cache, path=settings.path)
    with TemporaryDirectory(prefix="kernel-emulator-") as folder:
        environ = child_environment(
            os.environ,
            settings=settings,
            runtimes=runtimes.values(),
            log_folder=Path(folder),
            sanitize=args.sanitize,
            profile=args.profile is not None,
            max_instructions=args.max_instructions,
        )
        status = run_command(command, environ, stdout=sys.stderr if args.json else None)
        launches = read_launches(Path(folder))
    report_findings(launches)
    if args.profile is not None:
        report_profile(launches, args.profile, is_json=args.json)
    print(f"kernel-emulator: {describe_launches(launches)}", file=sys.stderr)
    if not status and any(launch["findings"] for launch in launches):
        status = FINDINGS_STATUS
    if args.report:
        write_report(args.report, render_report(command, status, launches))
    return status


def check_command(words: Sequence[str]) -> list[str]:
    """Return the command to run.

    Raises:
        CommandError: there is none, or no program of that name.
    """
    command = list(words[1:] if words[:1] == ["--"] else words)
    if not command:
        raise CommandError("no command to run", hint=f"for example: {EXAMPLE}")
    if shutil.which(command[0]) is None:
        raise CommandError(f"{command[0]!r}: no such program", hint="is it on PATH?")
    return command


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other.

    Raises:
        CommandError: says which.
    """
    if args.json and args.profile is None:
        raise CommandError("only a profile is printed as JSON", hint="add --profile")
    if args.profile and args.command[0] != "--":
        # The word after --profile was taken for its file; it may be the command.
        raise CommandError(
            f"--profile={args.profile} is not followed by --",
            hint="write --profile -- CMD, or --profile=FILE -- CMD",
        )
    if args.max_instructions is not None and args.max_instructions < 1:
        raise CommandError("--max-instructions must be 1 or more")


def run_command(
    command: Sequence[str], environ: Mapping[str, str], *, stdout: TextIO | None = None
) -> int:
    """Run ``command`` and return its status, as a shell would give it."""
    try:
        process = subprocess.Popen(command, env=environ, stdout=stdout)
    except OSError as error:
        raise CommandError(f"{command[0]!r} cannot be started: {error}") from error
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue  # the command got it as well: it decides, and its launches are still told
        return status if status >= 0 else 128 - status


def report_profile(launches: Sequence[dict[str, Any]], file: str, *, is_json: bool) -> None:
    """Print what was counted, and write it to ``file`` if that has a name."""
    from kernelmill.emulator.profile import add_up  # noqa: PLC0415 - NumPy: 0.2 s
    from kernelmill.emulator.profile_table import render_profiles  # noqa: PLC0415 - as above

    if is_json:
        print(render_profile(launches), end="")
    else:
        print(f"\n{render_profiles(add_up(launches))}\n", file=sys.stderr)
    if file:
        write_report(Path(file), render_profile(launches))


def report_findings(launches: Sequence[dict[str, Any]]) -> None:
    """Print what the sanitizer found, and why launches failed."""
    texts = []
    for launch in launches:
        texts += [finding["text"] for finding in launch["findings"]]
        if launch["error"]:
            texts.append(f"{launch['kernel']}: {launch['error']}")
    for text, count in Counter(texts).items():
        times = f" (in {count} launches)" if count > 1 else ""
        print(f"kernel-emulator: {text}{times}", file=sys.stderr)
