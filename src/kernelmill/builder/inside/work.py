"""Follow an order: lay everything out at fixed places, and run the ordinary pipeline there."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import CheckError, CompileError, PlanError
from kernelmill.builder.inside import order as order_format
from kernelmill.builder.inside.places import EPOCH, REPORT, STATEMENT_SUFFIX
from kernelmill.builder.inside.statement import provenance
from kernelmill.builder.inside.watch import Watch, watch_network
from kernelmill.builder.job import Job, run_job
from kernelmill.builder.locking.key import build_key
from kernelmill.builder.noarch.build import build_noarch
from kernelmill.builder.noarch.plan import plan_noarch
from kernelmill.builder.package import Origin
from kernelmill.builder.request import Goal
from kernelmill.builder.sdk import format as sdk_format
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.store import RECORD_NAME, VARIABLE
from kernelmill.builder.sources import read_tree
from kernelmill.spec.errors import KernelError
from kernelmill.spec.variant import NoarchVariant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelmill.builder.inside.order import Order

_PATH: Final = "/usr/bin"
_ROOT: Final = frozenset({"cxx", "tools"})
"""Kinds of SDKs whose place the machine's own programs take when nothing is isolated."""


def run(content: str, top: Path, *, python_path: Sequence[str]) -> int:
    """Build a variant into ``/out``; return the exit status.

    Args:
        content: of ``job.json``.
        top: what all places are below: ``/`` in a sandbox.
        python_path: folders of Python packages, for programs that are started.
    """
    os.umask(0o022)
    try:
        order = order_format.parse(content, where="job.json")
        watch = watch_network() if order.isolation == "sandbox" else Watch()
        folder = _build(order, top, python_path, watch)
    except KernelError as error:
        _report(error, top / "out" / REPORT)
        return error.exit_code
    target = top / "out" / order.variant
    shutil.copytree(folder, target)
    tree = read_tree(top / "build/kernel")
    key = build_key(tree, order, builder_sha256=nar_sha256(top / "builder"))
    statement = provenance(order, target, key=key)
    target.with_name(f"{order.variant}{STATEMENT_SUFFIX}").write_text(
        statement, encoding="utf-8", newline="\n"
    )
    return 0


def _report(error: KernelError, place: Path) -> None:
    _tell(f"error: {error}")
    document = {"problem": error.problem, "where": error.where, "hint": error.hint}
    place.write_text(json.dumps({**document, "status": error.exit_code}), encoding="utf-8")


def _build(order: Order, top: Path, python_path: Sequence[str], watch: Watch) -> Path:
    root = top / "build/kernel"
    _copy_sources(top / "src", root)
    for sdk in order.sdks:
        (top / "sdk" / sdk.name / RECORD_NAME).write_text(sdk_format.dumps(sdk), encoding="utf-8")
    variant, is_isolated = parse_variant(order.variant), order.isolation == "sandbox"
    origin = Origin(
        mode="release",
        isolation=order.isolation,
        source=order.source,
        inputs={
            "build.lock": order.lock_sha256,
            "kernelmill": nar_sha256(top / "builder"),
            **{it.name: it.nar_sha256 for it in order.sdks if is_isolated or it.kind not in _ROOT},
        },
    )
    if isinstance(variant, NoarchVariant):
        tree = read_tree(root)
        return build_noarch(plan_noarch(tree, variant), tree, origin=origin)
    env = _environment(top, python_path, is_isolated=is_isolated)
    os.environ.update(env)  # tools are looked for on the PATH of this process
    job = Job(
        root=root,
        goal=Goal.of(variant),
        env=env,
        python=sys.executable,
        wants_abi_stubs=True,
        origin=origin,
    )
    outcome = run_job(job, tell=_tell, on_line=_tell)
    if watch.wanted:
        said = f":\n{outcome.error.problem}" if outcome.error else ""
        raise CheckError(
            f"the build wanted the network, which it does not have: "
            f"{', '.join(watch.wanted)}{said}",
            hint="add what it wants to the sources, or to the manifest",
        )
    if isinstance(outcome.error, CompileError):
        # Its log is gone with the room.
        hint = "`-v` prints all that the tools print"
        raise CompileError(outcome.error.problem, where=outcome.error.where, hint=hint)
    if outcome.error:
        raise outcome.error
    if outcome.folder is None or outcome.variant != order.variant:
        raise PlanError(f"this makes {outcome.variant}, not {order.variant}")
    return outcome.folder


def _tell(line: str) -> None:
    sys.stdout.write(f"{line.rstrip()}\n")
    sys.stdout.flush()


def _copy_sources(source: Path, target: Path) -> None:
    """Copy the sources with fixed times and modes: ``__TIMESTAMP__`` is a file's time."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (EPOCH, EPOCH))


def _environment(top: Path, python_path: Sequence[str], *, is_isolated: bool) -> dict[str, str]:
    fixed = {
        "HOME": str(top / "build"),
        "TMPDIR": str(top / "tmp"),
        "PYTHONPATH": ":".join(python_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": str(EPOCH),
        VARIABLE: str(top / "sdk"),
        **({"MAX_JOBS": os.environ["MAX_JOBS"]} if os.environ.get("MAX_JOBS") else {}),
    }
    tools = "".join(f":{folder}/bin" for folder in python_path)
    path = _PATH if is_isolated else os.environ.get("PATH", _PATH)
    return {**fixed, "PATH": f"{path}{tools}"}
