"""``kernel-builder check-abi``: say which systems, Pythons and PyTorches built kernels run on."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kernelmill.builder.cli.options import add_json, note, print_json
from kernelmill.builder.errors import CheckError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.builder.check.abi import AbiFloor, AbiVerdict

HELP = "check the symbols of built kernels against manylinux, Python's and PyTorch's stable ABI"
_VERSION = re.compile(r"(\d+)\.(\d+)")


class _Judged(NamedTuple):
    path: Path
    verdict: AbiVerdict


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "path",
        nargs="?",
        default=Path(),
        type=Path,
        metavar="DIR|FILE",
        help="a kernel's folder, a folder of variants, one variant or one binary",
    )
    parser.add_argument("--manylinux", metavar="POLICY", help="by default manylinux_2_28")
    parser.add_argument("--macos", type=_version, metavar="M.m", help="by default 15.0")
    parser.add_argument("--python-abi", type=_version, metavar="M.m", help="by default 3.9")
    parser.add_argument(
        "--torch-stable-abi",
        type=_version,
        metavar="M.m",
        help="by default what a variant's name says",
    )
    parser.add_argument(
        "--torch-lib",
        type=Path,
        metavar="DIR",
        help="libraries or link stubs of a PyTorch: look up each of its symbols there",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print a verdict for each binary; findings are status 1."""
    judged = list(_judge(args.path, _floor(args), args.torch_lib))
    if args.json:
        print_json({"binaries": [_as_json(it) for it in judged]})
    else:
        for it in judged:
            print("\n".join(_as_lines(it)))
        if not judged:
            note("nothing here is compiled: there are no symbols to check")
    if any(it.verdict.findings for it in judged):
        raise CheckError("ABI compatibility issues found")
    return 0


def _floor(args: argparse.Namespace) -> AbiFloor:
    from kernelmill.builder.check.abi import AbiFloor  # noqa: PLC0415 - heavy
    from kernelmill.builder.check.policies import read_policies  # noqa: PLC0415 - heavy

    usual = AbiFloor()
    return AbiFloor(
        manylinux=read_policies().find(args.manylinux or usual.manylinux),
        macos=args.macos or usual.macos,
        python=args.python_abi or usual.python,
        torch_stable_abi=args.torch_stable_abi,
    )


def _version(text: str) -> tuple[int, int]:
    match = _VERSION.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a version: write two numbers, as in 3.9")
    return int(match[1]), int(match[2])


def _judge(path: Path, floor: AbiFloor, torch_lib: Path | None) -> Iterator[_Judged]:
    from kernelmill.builder.check.abi import judge_binary  # noqa: PLC0415 - heavy
    from kernelmill.builder.check.exports import read_exports  # noqa: PLC0415 - heavy
    from kernelmill.builder.variants import (  # noqa: PLC0415 - heavy
        find_extensions,
        find_variants,
        variant_of,
    )

    torch = read_exports(torch_lib) if torch_lib else None
    folders = [path.parent] if path.is_file() else find_variants(path)
    for folder in folders:
        for file in [path] if path.is_file() else find_extensions(folder):
            verdict = judge_binary(
                file.read_bytes(),
                where=str(file),
                floor=floor,
                variant=variant_of(folder),
                torch=torch,
            )
            yield _Judged(file, verdict)


def _as_json(judged: _Judged) -> dict[str, object]:
    verdict = judged.verdict
    return {
        "file": str(judged.path),
        "format": verdict.format,
        "needs": verdict.needs or None,
        "findings": [{"problem": it.problem, "hint": it.hint} for it in verdict.findings],
    }


def _as_lines(judged: _Judged) -> Iterator[str]:
    verdict = judged.verdict
    state = f"needs {verdict.needs}" if verdict.needs else "no known system has all it needs"
    yield f"{judged.path}: {state}{'' if verdict.findings else ', ok'}"
    for finding in verdict.findings:
        yield f"  - {finding}"
