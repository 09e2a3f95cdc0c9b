"""``kernel-builder sdk``: headers and link stubs of what is not installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cache.sdks import pull_locked, pull_sdk
from kernelmill.builder.cache.settings import CACHES, read_caches
from kernelmill.builder.cli.options import add_json, note, print_json
from kernelmill.builder.errors import CacheError, PlanError, SdkError
from kernelmill.builder.locking.files import read_lock
from kernelmill.builder.sdk.making import find_recipe, make_sdk
from kernelmill.builder.sdk.mirror import mirror
from kernelmill.builder.sdk.pins import known_inputs
from kernelmill.builder.sdk.recipes import recipes
from kernelmill.builder.sdk.store import open_store, parse_name
from kernelmill.builder.toolchain import require
from kernelmill.builder.toolchain.host import probe_cpu
from kernelmill.builder.toolchain.programs import probe_cxx

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from kernelmill.builder.cache.settings import Caches
    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.builder.sdk.store import Sdk, Store

HELP = (
    "list, fetch and verify SDKs: what builds need of a PyTorch or a toolkit that is not installed"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list those here, and those that can be fetched")
    listing.set_defaults(action=_list)
    fetch = actions.add_parser("fetch", help="make SDKs from what pip downloads")
    fetch.set_defaults(action=_fetch)
    fetch.add_argument("names", nargs="*", metavar="NAME", help="such as torch-2.12.0")
    fetch.add_argument(
        "--locked",
        type=Path,
        metavar="DIR",
        help="those that the lock of the kernel in DIR names, just as they are locked",
    )
    fetch.add_argument(
        "--no-cache", action="store_true", help=f"do not ask the caches that {CACHES} names"
    )

    mirroring = actions.add_parser(
        "mirror", help="collect the files that locked SDKs are made from, for `fetch --from`"
    )
    mirroring.set_defaults(action=_mirror)
    mirroring.add_argument("folder", type=Path, metavar="FOLDER", help="the mirror")
    mirroring.add_argument(
        "kernels", type=Path, nargs="+", metavar="DIR", help="kernels with a build.lock"
    )
    for action in (fetch, mirroring):
        action.add_argument(
            "--from",
            dest="offline",
            type=Path,
            metavar="FOLDER",
            help="take files from here, offline",
        )
    fetch.add_argument("--force", action="store_true", help="make those again that are here")
    verify = actions.add_parser("verify", help="compare those here with their hashes")
    verify.set_defaults(action=_verify)
    verify.add_argument("names", nargs="*", metavar="NAME", help="by default all")
    for action in (listing, fetch, verify, mirroring):
        add_json(action)


def run(args: argparse.Namespace) -> int:
    """Do what the action says."""
    return int(args.action(args, open_store(os.environ)))


def _list(args: argparse.Namespace, store: Store) -> int:
    installed = store.installed()
    known = [f"{kind}-{version}" for kind in recipes() for version in known_inputs().get(kind, {})]
    available = [name for name in known if store.find(*parse_name(name)) is None]
    if args.json:
        print_json({"sdks": [_as_json(it) for it in installed], "available": available})
        return 0
    for sdk in installed:
        print(f"{sdk.record.name}  {sdk.folder}")
    for name in available:
        kind, _ = parse_name(name)
        print(f"{name}  not here: {find_recipe(kind).SUMMARY}")
    return 0


def _fetch(args: argparse.Namespace, store: Store) -> int:
    if not args.names and not args.locked:
        raise PlanError("nothing to fetch", hint="name SDKs, or a kernel with --locked DIR")
    made = [_fetch_one(name, args, store) for name in args.names]
    if args.locked:
        made += [_fetch_locked(it, args, store) for it in _locked([args.locked])]
    if args.json:
        print_json({"sdks": [_as_json(it) for it in made]})
    else:
        print("\n".join(str(it.folder) for it in made))
    return 0


def _fetch_one(name: str, args: argparse.Namespace, store: Store) -> Sdk:
    kind, version = parse_name(name)
    find_recipe(kind)
    found = store.find(kind, version)
    if found and not args.force:
        note(f"{found.record.name} is here already; --force makes it again")
        return found
    if fetched := _from_caches(kind, version, args, store):
        return fetched
    sdk = make_sdk(
        kind,
        version,
        store,
        platform=f"{probe_cpu()}-linux",
        cxx=_compiler(store),
        offline=args.offline,
        note=lambda text: note(f"{name}: {text}"),
    )
    note(f"{name}: made {sdk.record.name}, NAR sha256 {sdk.record.nar_sha256}")
    return sdk


def _from_caches(kind: str, version: str, args: argparse.Namespace, store: Store) -> Sdk | None:
    """Ask the caches; what goes wrong with them is told, and the SDK is made here instead."""
    platform = f"{probe_cpu()}-linux"
    caches = _caches(args)
    try:
        return pull_sdk(kind, version, caches, store, platform=platform, note=note)
    except CacheError as error:
        note(f"{error}\nmaking {kind}-{version} here instead")
        return None


def _caches(args: argparse.Namespace) -> Caches:
    """Return the caches to ask: none for those who want something made."""
    is_made = args.offline or args.force or args.no_cache
    return read_caches({} if is_made else os.environ)


def _locked(kernels: Iterable[Path]) -> list[SdkRecord]:
    """Return the SDKs of locks, those first that others are made from."""
    records = {it.name: it for each in kernels for it in read_lock(each)[0].sdks.values()}
    return sorted(records.values(), key=lambda it: (it.kind != "cxx", it.name))


def _fetch_locked(locked: SdkRecord, args: argparse.Namespace, store: Store) -> Sdk:
    here = [it for it in store.installed() if it.record.name == locked.name]
    is_other = any(it.record.nar_sha256 != locked.nar_sha256 for it in here)
    if is_other and not args.force:
        raise SdkError(
            f"another {locked.name} is here", where=str(here[0].folder), hint="replace it: --force"
        )
    if not here and (fetched := pull_locked(locked, _caches(args), store, note=note)):
        return fetched
    sdk = _fetch_one(f"{locked.kind}-{_known_as(locked)}", args, store)
    if sdk.record.nar_sha256 != locked.nar_sha256:
        raise SdkError(
            f"this is not the {locked.name} that is locked: its NAR sha256 is "
            f"{sdk.record.nar_sha256}, want {locked.nar_sha256}",
            where=str(sdk.folder),
            hint="its recipe or its files have changed: kernel-builder lock --update NAME",
        )
    return sdk


def _known_as(record: SdkRecord) -> str:
    """Return the version that the files of an SDK are known under, which may be a shorter one."""
    hashes = {it.sha256 for it in record.inputs}
    for version, files in known_inputs().get(record.kind, {}).items():
        if hashes >= {it.sha256 for it in files}:
            return version
    return record.version


def _mirror(args: argparse.Namespace, _store: Store) -> int:
    done = mirror(_locked(args.kernels), args.folder, offline=args.offline, note=note)
    if args.json:
        print_json({"files": done.files, "added": done.added, "bytes": done.size_bytes})
    else:
        print(
            f"{args.folder}: {len(done.files)} files, {done.size_bytes / 1e6:.0f} MB; "
            f"{done.added} new"
        )
    return 0


def _compiler(store: Store) -> str:
    """Return whose libraries become stubs: the toolchain in the store before this machine's."""
    found = [it for it in store.installed() if it.record.kind == "cxx"]
    return str(found[-1].tree) if found else require(probe_cxx(os.environ)).path


def _verify(args: argparse.Namespace, store: Store) -> int:
    sdks = [store.require(*parse_name(it)) for it in args.names] or list(store.installed())
    findings = [(sdk, store.verify(sdk)) for sdk in sdks]
    if args.json:
        print_json({"sdks": [{**_as_json(sdk), "problem": it} for sdk, it in findings]})
    else:
        for sdk, problem in findings:
            print(f"{sdk.record.name}: {problem or 'as it was made'}")
    return 1 if any(problem for _, problem in findings) else 0


def _as_json(sdk: Sdk) -> dict[str, object]:
    return {
        "name": sdk.record.name,
        "kind": sdk.record.kind,
        "release": sdk.record.version,
        "platform": sdk.record.platform,
        "folder": str(sdk.folder),
        "nar-sha256": sdk.record.nar_sha256,
        "inputs": [
            {"name": it.name, "version": it.version, "file": it.file, "sha256": it.sha256}
            for it in sdk.record.inputs
        ],
    }
