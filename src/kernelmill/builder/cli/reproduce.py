"""``kernel-builder reproduce``: build what was released again, and compare byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_json, note, print_json
from kernelmill.builder.compile import step_of
from kernelmill.builder.errors import ReproductionError
from kernelmill.builder.locking.trees import LockedStore
from kernelmill.builder.package import OUTPUT_FOLDER
from kernelmill.builder.reproduction import Reproduction, reproduce, reproduce_expected
from kernelmill.builder.sandbox.choice import probe_sandbox
from kernelmill.builder.sdk.store import open_store
from kernelmill.builder.sources import MANIFEST_NAME
from kernelmill.builder.variants import find_variants

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from kernelmill.builder.sandbox.choice import Sandbox
    from kernelmill.builder.sdk.format import SdkRecord

HELP = "build released variants again, and compare them byte for byte"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "what",
        nargs="?",
        default=".",
        metavar="WHAT",
        help="a variant's folder or name, a kernel's folder (all its variants), or a repository "
        "on the Hub; by default the kernel here",
    )
    parser.add_argument(
        "--source",
        type=Path,
        metavar="DIR",
        help="the kernel's sources; by default those beside the variant, else those here",
    )
    parser.add_argument(
        "--version", type=int, default=1, metavar="N", help="of a repository on the Hub; default: 1"
    )
    parser.add_argument(
        "--variant", action="append", metavar="NAME", help="only this one; may be repeated"
    )
    parser.add_argument(
        "--expected",
        action="store_true",
        help="compare with the hashes in build.sha256, beside the lock, in place of builds",
    )
    add_json(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print what the tools print")


def run(args: argparse.Namespace) -> int:
    """Build again and compare; status 1 when something differs."""
    with tempfile.TemporaryDirectory(prefix="kernelmill-") as scratch:
        results = []
        for result in _reproduce(args, Path(scratch)):
            results.append(result)
            if not args.json:
                print("\n".join(_lines(result)), flush=True)
    if args.json:
        print_json({"variants": [_as_json(it) for it in results]})
    return 0 if all(it.is_same for it in results) else 1


def _reproduce(args: argparse.Namespace, scratch: Path) -> Iterator[Reproduction]:
    store = LockedStore(open_store(os.environ))

    def find_sandbox(base: SdkRecord) -> Sandbox:
        return probe_sandbox(os.environ, root=store.tree_of(base))

    def on_line(line: str) -> None:
        if shown := line.rstrip() if args.verbose else step_of(line):
            note(f"  {shown}")

    if args.expected:
        root, variants = Path(args.what).resolve(), args.variant or ()
        yield from reproduce_expected(root, store, find_sandbox, variants=variants, on_line=on_line)
        return
    source = args.source.resolve() if args.source else None
    for folder in _find(args, scratch):
        if args.variant and folder.name not in args.variant:
            continue
        note(f"building {folder.name} again")
        yield reproduce(folder, source or _sources_of(folder), store, find_sandbox, on_line=on_line)


def _find(args: argparse.Namespace, scratch: Path) -> Sequence[Path]:
    """Return the folders of the variants that are meant."""
    place = Path(args.what)
    if place.is_dir():
        return find_variants(place.resolve())
    named = (args.source or Path()).resolve() / OUTPUT_FOLDER / args.what
    if named.is_dir():
        return (named,)
    if args.what.count("/") == 1:
        return _download(args.what, args.version, scratch)
    raise ReproductionError(
        f"{args.what!r} is no folder, no variant in {OUTPUT_FOLDER}/, and no repository",
        hint="name one of these; a repository is OWNER/NAME",
    )


def _sources_of(folder: Path) -> Path:
    """Return the kernel that a variant lies in, else the folder that we are in."""
    beside = folder.parent.parent
    return beside if (beside / MANIFEST_NAME).is_file() else Path.cwd()


def _download(repository: str, version: int, scratch: Path) -> Sequence[Path]:
    """Return the folders of all variants of a repository, fetched by the ``kernels`` command."""
    table = f'[tool.kernels.dependencies]\n"{repository}" = {{ version = {version} }}\n'
    (scratch / "pyproject.toml").write_text(table, encoding="utf-8")
    runtime = [sys.executable, "-m", "kernelmill.runtime"]
    for words in (["lock", str(scratch)], ["download", str(scratch), "--all-variants", "--json"]):
        done = subprocess.run(
            [*runtime, *words, "--allow", repository],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ReproductionError(f"{repository} cannot be fetched", hint="see the message above")
    (kernel,) = json.loads(done.stdout)["kernels"]
    return [Path(it["path"]) for it in kernel["builds"]]


def _lines(result: Reproduction) -> list[str]:
    notes = [f"{result.variant}: note: {it}" for it in result.notes]
    if not result.differences:
        return [*notes, f"{result.variant}: the same, {len(result.sha256)} files"]
    words = [f"  {it.path}: {word}" for it in result.differences for word in it.words]
    verdict = "the same, but for the builder's version" if result.is_same else "differs"
    return [*notes, f"{result.variant}: {verdict}", *words]


def _as_json(result: Reproduction) -> dict[str, object]:
    return {
        "variant": result.variant,
        "same": result.is_same,
        "notes": result.notes,
        "sha256": dict(result.sha256),
        "differences": [
            {"path": it.path, "words": it.words, "builder-only": it.is_builder_only}
            for it in result.differences
        ],
    }
