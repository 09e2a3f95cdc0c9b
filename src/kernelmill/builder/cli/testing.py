"""What ``kernel-builder test`` does with its arguments."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import note, print_json
from kernelmill.builder.errors import SourceError, ToolchainError, TrialError, install_hint
from kernelmill.builder.package import METADATA_NAME, OUTPUT_FOLDER
from kernelmill.builder.review import require_fresh
from kernelmill.builder.sources import read_manifest
from kernelmill.builder.toolchain.gpu import has_nvidia_gpu, probe_local_archs
from kernelmill.builder.toolchain.host import probe_cpu
from kernelmill.builder.toolchain.torch import probe_torch
from kernelmill.builder.toolchain.tvm_ffi import probe_tvm_ffi
from kernelmill.builder.trial import command, outcome, plan, render
from kernelmill.spec.backend import Backend
from kernelmill.spec.host import Host
from kernelmill.spec.version import parse_major_minor, parse_release

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.trial.outcome import Outcome
    from kernelmill.builder.trial.plan import Question, Site, Trial


def run(args: argparse.Namespace) -> int:
    """Test, and print a table; status 1 unless every variant passed."""
    root = args.dir.resolve()
    question = plan.parse_question(
        str(args.dir),
        backends=args.backend,
        emulate=args.emulate,
        sanitize=args.sanitize,
        profile=args.profile,
    )
    names = plan.only_named(read_variants(root), args.variant or (), folder=str(args.dir))
    planned = plan.plan_trials(names, question, probe_site(sys.executable))
    require_modules(question)
    for text in planned.omitted:
        note(text)
    for trial in planned.trials:
        require_fresh(root / OUTPUT_FOLDER / str(trial.variant), root)
    outcomes = [
        run_trial(trial, root, pytest_args=args.rest, is_json=args.json) for trial in planned.trials
    ]
    if args.json:
        print_json(render.outcomes_json(outcomes))
    else:
        print("\n" + render.render_outcomes(outcomes))
    return 1 if any(it.problem for it in outcomes) else 0


def read_variants(root: Path) -> list[str]:
    """Return the names of the finished variants of a kernel that has tests.

    Raises:
        SourceError: it is no kernel repository, or has no tests.
    """
    read_manifest(root)
    if not (root / command.TESTS).is_dir():
        raise SourceError(
            f"no folder {command.TESTS} here",
            where=str(root),
            hint="`kernel-builder init` writes one to start from",
        )
    return [it.parent.name for it in (root / OUTPUT_FOLDER).glob(f"*/{METADATA_NAME}")]


def probe_site(python: str) -> Site:
    """Look at this machine and the installed torch."""
    torch, tvm_ffi = probe_torch(python), probe_tvm_ffi(python)
    host = Host(
        cpu=probe_cpu(),
        os="linux",
        backend=Backend.CPU,
        torch=torch.release,
        cxx11_abi=torch.has_cxx11_abi,
        python=sys.version_info[:2],
        tvm_ffi=tvm_ffi.version if tvm_ffi else None,
    )
    rocm = parse_release(torch.hip, what="HIP").series if torch.hip else None
    cuda = parse_major_minor(torch.cuda, where="torch.version.cuda") if torch.cuda else None
    return plan.Site(
        host=host,
        gpus=probe_local_archs(),
        rocm=rocm,
        has_nvidia_gpu=has_nvidia_gpu(),
        cuda=cuda,
    )


def require_modules(question: Question) -> None:
    """Look for the packages that a run needs, before it fails over them.

    Raises:
        ToolchainError: one is not installed.
    """
    needs = {"pytest": "pip install pytest"}
    if question.emulate:
        needs |= dict.fromkeys(("numpy", "elftools"), install_hint("emulator"))
    for name, hint in needs.items():
        if importlib.util.find_spec(name) is None:
            raise ToolchainError(f"the Python package {name} is not installed", hint=hint)


def run_trial(trial: Trial, root: Path, *, pytest_args: list[str], is_json: bool) -> Outcome:
    """Test one variant; what pytest prints goes to the terminal.

    Raises:
        TrialError: the tests did not run to their end.
    """
    note(f"testing {trial.title}")
    started = time.monotonic()
    with TemporaryDirectory(prefix="kernel-builder-") as folder:
        scratch = Path(folder)
        done = subprocess.run(
            command.command_for(
                trial, python=sys.executable, scratch=scratch, pytest_args=pytest_args
            ),
            env=command.environment_for(trial, os.environ, root=root),
            cwd=root,
            stdout=sys.stderr if is_json else None,  # stdout is the result
            check=False,
        )
        results, log = scratch / command.RESULTS, scratch / command.LAUNCHES
        if not results.exists():
            raise TrialError(
                f"the tests of {trial.variant} did not run to their end: status {done.returncode}",
                hint="what went wrong is printed above",
            )
        counts = outcome.read_counts(results.read_text("utf-8"))
        launches, faults = (
            outcome.read_launches(log.read_text("utf-8")) if log.exists() else (None, ())
        )
    return outcome.Outcome(
        trial=trial,
        counts=counts,
        launches=launches,
        faults=faults,
        seconds=time.monotonic() - started,
        problem=outcome.judge(
            trial, status=done.returncode, counts=counts, launches=launches, faults=faults
        ),
    )
