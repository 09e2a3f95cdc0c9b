"""``kernels doctor``: what is here, whether it can load kernels, and whether one really loads."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelmill import __version__
from kernelmill.console import printable
from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import print_facts, print_json

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from kernelmill.runtime.settings import Settings
    from kernelmill.spec.errors import KernelError

HELP = "show what this machine offers to kernels, and what is wrong with it"

ANSWER_TIMEOUT_S: Final = 5.0
TRIAL_TIMEOUT_S: Final = 600.0
"""For fetching and loading a kernel."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "place",
        nargs="?",
        metavar="REPO_OR_FOLDER",
        help="a kernel to load, too, in a process of its own",
    )
    arguments.add_revision(parser)
    arguments.add_backend(parser)
    arguments.add_trust(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the facts; 1 when something is wrong."""
    host, findings = _probe()
    settings, mistakes = _read_settings()
    findings += mistakes
    facts = {
        "kernelmill": __version__,
        **host,
        "endpoint": settings.endpoint,
        "is_offline": settings.is_offline,
        "cache": str(settings.cache_dir),
        "local_kernels": {name: str(path) for name, path in settings.local_kernels.items()},
        "bundles": list(filter(None, os.environ.get("KERNELS_BUNDLE", "").split(os.pathsep))),
    }
    findings += [] if settings.is_offline or mistakes else _check_endpoint(settings.endpoint)
    findings += _check_cache(settings.cache_dir)
    findings += [
        f"LOCAL_KERNELS: {name}: there is no folder '{path}'"
        for name, path in settings.local_kernels.items()
        if not path.is_dir()
    ]
    findings += _check_bundles() + _check_signers()
    if args.place:
        facts["loads"], problems = _try(args)
        findings += problems
    if args.json:
        print_json({"version": 1, **facts, "findings": findings})
    else:
        print_facts({**facts, "findings": len(findings) or "none"})
        for finding in findings:
            print(printable(f"- {finding}"))
    return 1 if findings else 0


def _read_settings() -> tuple[Settings, list[str]]:
    """Return the settings without the variables that cannot be used, and what is wrong with them.

    Loading stops at the first of these; here all are said, with what else there is to say.
    """
    from kernelmill.runtime.settings import DECIDING_VARIABLES, read_settings  # noqa: PLC0415
    from kernelmill.spec.errors import InputError  # noqa: PLC0415 - only here

    environ, findings = dict(os.environ), list[str]()
    while True:
        try:
            return read_settings(environ), findings
        except InputError as error:
            text = str(error)
            named = [it for it in DECIDING_VARIABLES if re.search(rf"\b{it}\b", text)]
            name = next((it for it in named if environ.pop(it, None) is not None), "")
            if not name:
                raise
            findings.append(_line(error))


def _line(error: KernelError) -> str:
    where = f"{error.where}: " if error.where else ""
    return f"{where}{error.problem}{f': {error.hint}' if error.hint else ''}"


def _check_bundles() -> list[str]:
    from kernelmill.runtime.bundles import parse_bundle_paths  # noqa: PLC0415 - only here
    from kernelmill.spec.errors import InputError  # noqa: PLC0415 - as above

    try:
        parse_bundle_paths(os.environ.get("KERNELS_BUNDLE", ""))
    except InputError as error:
        return [_line(error)]
    return []


def _check_signers() -> list[str]:
    from kernelmill.runtime.signatures.requirement import read_signers  # noqa: PLC0415 - only here
    from kernelmill.runtime.signatures.settings import read_signature_settings  # noqa: PLC0415
    from kernelmill.spec.errors import KernelError  # noqa: PLC0415 - as above

    try:
        settings = read_signature_settings()
        if settings.is_required:
            read_signers(settings)
    except KernelError as error:
        return [_line(error)]
    return []


def _probe() -> tuple[dict[str, object], list[str]]:
    from kernelmill.runtime.explain import host_json  # noqa: PLC0415 - as above
    from kernelmill.runtime.probe import probe_devices, probe_host  # noqa: PLC0415 - as above
    from kernelmill.spec.errors import HostError  # noqa: PLC0415 - as above

    try:
        host = probe_host()
        host = replace(host, devices=probe_devices(host.backend))
    except HostError as error:
        return {}, [error.problem]
    missing = "torch is not installed: only builds that do without it can be loaded"
    return host_json(host), [] if host.torch else [missing]


def _try(args: argparse.Namespace) -> tuple[str | None, list[str]]:
    """Load a kernel in another process, which it may crash; return its module, and what failed."""
    wanted = {
        "place": args.place,
        "version": args.version,
        "revision": args.revision,
        "backend": args.backend,
        "trust_remote_code": arguments.trust_of(args),
    }
    command = [sys.executable, "-P", "-m", "kernelmill.runtime.trial", json.dumps(wanted)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=TRIAL_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None, [f"{args.place}: not loaded within {TRIAL_TIMEOUT_S:.0f} seconds"]
    try:
        outcome = json.loads(done.stdout)
    except ValueError:
        return None, [f"{args.place}: loading it ends the process, {_end_of(done.returncode)}"]
    error = outcome.get("error")
    return outcome.get("module"), [f"{args.place}: {error}"] if error else []


def _end_of(status: int) -> str:
    if status >= 0:
        return f"with exit status {status}"
    return f"by signal {-status} ({signal.strsignal(-status)})"


def _check_endpoint(endpoint: str) -> list[str]:
    from kernelmill.runtime.hub.remote import RemoteHub  # noqa: PLC0415 - imports huggingface_hub
    from kernelmill.spec.errors import HubError  # noqa: PLC0415 - as above

    try:
        # Any answer will do, and every Hub answers this one.
        RemoteHub(endpoint, timeout_s=ANSWER_TIMEOUT_S).fetch_trust("kernels-community")
    except HubError as error:
        return [f"{endpoint}: {error.problem}"]
    return []


def _check_cache(folder: Path) -> list[str]:
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if not existing.is_dir():
        return [f"the cache {folder} cannot be made: {existing} is not a folder"]
    if os.access(existing, os.W_OK | os.X_OK):
        return []
    return [f"the cache {folder} cannot be written to: only what it holds can be loaded"]
