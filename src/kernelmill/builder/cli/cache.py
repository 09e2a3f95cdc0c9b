"""``kernel-builder cache``: SDKs and builds that one machine made and others fetch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.cache import sdks
from kernelmill.builder.cache.builds import pull_build, push_build
from kernelmill.builder.cache.entries import MB
from kernelmill.builder.cache.keys import generate, read_secret
from kernelmill.builder.cache.places import open_place
from kernelmill.builder.cache.releases import push_releases
from kernelmill.builder.cache.settings import CACHES, TRUSTED, read_caches
from kernelmill.builder.cache.survey import survey
from kernelmill.builder.cli.options import add_json, note, print_json
from kernelmill.builder.errors import CacheError
from kernelmill.builder.sdk.store import open_store, parse_name
from kernelmill.builder.toolchain.host import probe_cpu
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.cache.entries import Transfer
    from kernelmill.builder.cache.places import Place
    from kernelmill.builder.cache.settings import Caches
    from kernelmill.builder.sdk.store import Sdk, Store

HELP = "share SDKs and builds through binary caches: push, pull, info, keygen"
SIGNING_KEY: Final = "KERNELMILL_CACHE_KEY"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    push = actions.add_parser("push", help="sign SDKs or a build, and send them")
    push.set_defaults(action=_push)
    push.add_argument("names", nargs="*", metavar="SDK", help="such as torch-2.12.0")
    push.add_argument(
        "--to", metavar="CACHE", help=f"https://HUB/nix/OWNER or a folder; else that of {CACHES}"
    )
    push.add_argument(
        "--key", type=Path, metavar="FILE", help=f"who signs; else that of {SIGNING_KEY}"
    )
    _add_build(push)
    push.add_argument(
        "--release",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a kernel: all of its release builds, under the keys of what they are made of",
    )
    pull = actions.add_parser("pull", help="fetch SDKs into the store, or a build")
    pull.set_defaults(action=_pull)
    pull.add_argument("names", nargs="*", metavar="SDK", help="such as torch-2.12.0")
    _add_caches(pull)
    _add_build(pull)
    info = actions.add_parser("info", help="say which caches answer, and what they have")
    info.set_defaults(action=_info)
    info.add_argument("names", nargs="*", metavar="SDK", help="to look for")
    _add_caches(info)
    keygen = actions.add_parser("keygen", help="make a key to sign with, in Nix's format")
    keygen.set_defaults(action=_keygen)
    keygen.add_argument("name", metavar="NAME", help="such as cache.example.org-1")
    keygen.add_argument("file", type=Path, metavar="FILE", help="the secret key; a new file")
    for action in (push, pull, info, keygen):
        add_json(action)


def _add_caches(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="addresses",
        action="append",
        default=[],
        metavar="CACHE",
        help=f"in place of {CACHES}; may be repeated",
    )
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="NAME:BASE64",
        help=f"whose signatures count, besides {TRUSTED}; may be repeated",
    )


def _add_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="build/<variant>")
    parser.add_argument(
        "--build-key", metavar="TEXT", help="with --build: of all that the build is made of"
    )


def run(args: argparse.Namespace) -> int:
    """Do what the action says."""
    return int(args.action(args))


def _push(args: argparse.Namespace) -> int:
    _check_what(args)
    place = _target(args.to)
    file = args.key or os.environ.get(SIGNING_KEY)
    if not file:
        raise InputError(
            "nobody signs", hint=f"--key FILE or {SIGNING_KEY}; make one with `cache keygen`"
        )
    key, store = read_secret(Path(file)), open_store(os.environ)
    sent = []
    for name in args.names:
        sdk = store.require(*parse_name(name))
        sent.append(sdks.push_sdk(sdk, place, key, store=store, note=note))
    if args.build:
        sent.append(push_build(args.build, args.build_key, place, key))
    for root in args.release:
        sent += push_releases(root.resolve(), place, key, note=note)
    for it in sent:
        note(f"{it.name}: to {it.address}: {it}, signed by {key.public.name}")
    _print(sent, args)
    return 0


def _target(address: str | None) -> Place:
    known = os.environ.get(CACHES, "").split()
    if not address and len(known) != 1:
        raise InputError(f"{CACHES} names {len(known)} caches", hint="--to CACHE")
    return open_place(address or known[0], os.environ)


def _pull(args: argparse.Namespace) -> int:
    _check_what(args)
    caches, store = _caches(args), open_store(os.environ)
    folders = [_pull_sdk(name, caches, store).folder for name in args.names]
    if args.build:
        if not pull_build(args.build_key, args.build, caches, note=note):
            raise CacheError(f"no cache has {args.build.name} of this key", hint="build it")
        folders.append(args.build)
    if args.json:
        print_json({"folders": [str(it) for it in folders]})
    else:
        print("".join(f"{it}\n" for it in folders), end="")
    return 0


def _pull_sdk(name: str, caches: Caches, store: Store) -> Sdk:
    kind, version = parse_name(name)
    if found := store.find(kind, version):
        note(f"{found.record.name} is here already")
        return found
    platform = f"{probe_cpu()}-linux"
    pulled = sdks.pull_sdk(kind, version, caches, store, platform=platform, note=note)
    if pulled is None:
        raise CacheError(f"no cache has {name}", hint=f"kernel-builder sdk fetch {name}")
    return pulled


def _info(args: argparse.Namespace) -> int:
    caches = _caches(args)
    wanted = {
        name: sdks.record_path(name, f"{probe_cpu()}-linux")
        for asked in args.names
        for name in sdks.names_of(*parse_name(asked))
    }
    found = survey(caches, wanted)
    if args.json:
        print_json(
            {
                "trusted": [str(it) for it in caches.trusted],
                "caches": [
                    {"address": it.address, "problem": it.problem, "entries": dict(it.entries)}
                    for it in found
                ],
            }
        )
    else:
        for key in caches.trusted:
            print(f"trusted: {key}")
        for it in found:
            print(f"{it.address}: {it.problem or 'answers'}")
            for name, state in it.entries.items():
                print(f"  {name}: {state}")
    return 1 if any(it.problem for it in found) else 0


def _keygen(args: argparse.Namespace) -> int:
    public = generate(args.name, args.file)
    if args.json:
        print_json({"private": str(args.file), "public_key": str(public)})
    else:
        print(public)
        note(f"secret key: {args.file}; others set {TRUSTED} to what is printed above")
    return 0


def _caches(args: argparse.Namespace) -> Caches:
    caches = read_caches(os.environ, addresses=args.addresses, keys=args.trust)
    if not caches.places:
        raise InputError("no cache is named", hint=f"--from CACHE, or set {CACHES}")
    return caches


def _check_what(args: argparse.Namespace) -> None:
    if not args.names and not args.build and not getattr(args, "release", []):
        raise InputError("nothing is named", hint="name SDKs, or --build FOLDER --build-key TEXT")
    if bool(args.build) != bool(args.build_key):
        raise InputError("--build and --build-key go together", hint="give both")


def _print(transfers: list[Transfer], args: argparse.Namespace) -> None:
    if not args.json:
        print("".join(f"{it.name}\n" for it in transfers), end="")
        return
    rows = [
        {
            "name": it.name,
            "address": it.address,
            "packed_mb": round(it.packed_bytes / MB, 3),
            "unpacked_mb": round(it.unpacked_bytes / MB, 3),
            "seconds": round(it.seconds, 3),
        }
        for it in transfers
    ]
    print_json({"transfers": rows})
