"""``kernels benchmark``: run the benchmark scripts of a kernel."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import note, print_table
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    import argparse

    from kernelmill.runtime.benchmark.report import Report
    from kernelmill.runtime.benchmark.repository import Subject
    from kernelmill.runtime.session import Session

HELP = "time a kernel with its own benchmark scripts"

_VERSION: Final = re.compile(r"v([0-9]{1,9})")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "repo",
        metavar="REPO[@vN|@BRANCH]",
        help="such as kernels-community/gemm@v1, or a folder with builds and benchmarks/",
    )
    parser.add_argument("--branch", help="the branch, if REPO does not say")
    parser.add_argument("--version", type=int, metavar="N", help="for the branch vN")
    parser.add_argument("--backend", metavar="NAME", help="cpu, or what PyTorch is built for")
    parser.add_argument(
        "--trust-remote-code", action="store_true", help="run the code of any publisher"
    )
    parser.add_argument("--iterations", type=_count, default=100, metavar="N")
    parser.add_argument("--warmup", type=_count_or_none, default=10, metavar="N")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--visual", metavar="BASE", help="write BASE_light.svg and BASE_dark.svg")
    parser.add_argument("--rasterized", action="store_true", help="pictures as PNG, not SVG")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Time every workload; the table goes to stderr, JSON to stdout."""
    from kernelmill.runtime.benchmark.plot import (  # noqa: PLC0415 - only this command
        ensure_plotting,
        write_plots,
    )
    from kernelmill.runtime.benchmark.report import COLUMNS  # noqa: PLC0415 - as above
    from kernelmill.runtime.session import open_session  # noqa: PLC0415 - as above

    if args.visual:
        ensure_plotting()
    session = open_session(backend=args.backend)
    report = _time(session, _subject(session, args), args)
    print_table(COLUMNS, report.rows(), file=sys.stderr)
    text = json.dumps(report.payload(), indent=2, ensure_ascii=False)
    if args.output:
        args.output.write_text(f"{text}\n", encoding="utf-8")
    if args.visual:
        kind = "png" if args.rasterized else "svg"
        for path in write_plots(args.visual, args.repo, report.timings, kind):
            note(f"wrote {path}")
    if args.json:
        print(text)
    return 0


def _subject(session: Session, args: argparse.Namespace) -> Subject:
    from kernelmill.runtime.benchmark import repository  # noqa: PLC0415 - only this command

    folder = Path(args.repo).expanduser()
    if folder.is_dir():
        if args.branch or args.version is not None:
            raise InputError("--branch and --version cannot be used with a local path")
        return repository.read_subject(folder, args.backend)
    repo_id, version, branch = parse_target(args.repo, args.version, args.branch)
    return repository.fetch_subject(
        session,
        repo_id,
        version=version,
        revision=branch,
        trust_remote_code=args.trust_remote_code,
    )


def _time(session: Session, subject: Subject, args: argparse.Namespace) -> Report:
    from kernelmill.runtime.benchmark.device import BenchmarkDevice  # noqa: PLC0415 - as above
    from kernelmill.runtime.benchmark.report import Report  # noqa: PLC0415 - as above
    from kernelmill.runtime.benchmark.run import Runner  # noqa: PLC0415 - as above
    from kernelmill.runtime.benchmark.script import read_classes  # noqa: PLC0415 - as above
    from kernelmill.runtime.probe import require_torch  # noqa: PLC0415 - as above

    device = BenchmarkDevice(backend=session.host.backend, torch=require_torch())
    machine = device.describe(session.host)
    note(f"{args.repo} {subject.revision} on {device.name}: {machine.backend}, {machine.cpu}")
    runner = Runner(device=device, iterations=args.iterations, warmup=args.warmup)
    classes = [it for path in subject.scripts for it in read_classes(path, root=subject.root)]
    if not classes:
        names = ", ".join(path.name for path in subject.scripts)
        raise InputError(
            f"No Benchmark subclasses found in {names}",
            hint="extend kernels.benchmark.Benchmark",
        )
    timings = dict(result for case in classes for result in runner.run(case, subject.kernel))
    return Report(
        timings=timings,
        machine=machine,
        kernel_id=subject.kernel.__name__,
        script_commit=subject.commit,
    )


def parse_target(
    text: str, version: int | None, branch: str | None
) -> tuple[str, int | None, str | None]:
    """Read ``REPO``, ``REPO@vN`` or ``REPO@BRANCH``: repository, version, branch.

    Raises:
        InputError: the revision is given twice.
    """
    repo_id, at, wanted = text.partition("@")
    if len([it for it in (at, version, branch) if it not in (None, "")]) > 1:
        raise InputError(
            "the revision to time is given more than once",
            hint="keep one of @vN, --version and --branch",
        )
    if match := _VERSION.fullmatch(wanted):
        return repo_id, int(match[1]), None
    if at and not wanted:
        raise InputError(f"nothing follows the @ in {text!r}", hint="write it as org/name@v1")
    return repo_id, version, wanted or branch or None


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def _count_or_none(text: str) -> int:
    if (number := int(text)) < 0:
        raise ValueError(text)
    return number
