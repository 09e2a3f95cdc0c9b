"""``kernel-builder sign``: vouch for the builds in ``build/`` with a key of your own."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.cli.options import add_folder, add_json, note, print_json
from kernelmill.builder.errors import SigningError
from kernelmill.spec.digest import SIGNATURE_FILE

if TYPE_CHECKING:
    import argparse

HELP = "sign the variants in build/ with an ed25519 key"

PASSPHRASE: Final = "KERNEL_BUILDER_KEY_PASSPHRASE"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument(
        "--key",
        action="append",
        required=True,
        type=Path,
        metavar="FILE",
        help="a private key, such as `kernel-builder keygen` makes; may be repeated. An encrypted "
        f"one is opened with {PASSPHRASE}, or else asks on the terminal",
    )
    parser.add_argument("--add", action="store_true", help="keep signatures by other keys")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Sign all variants, or none."""
    from kernelmill.builder.signing import (  # noqa: PLC0415 - only this command
        is_readable_by_others,
        read_signing_key,
        sign_builds,
        sigstore_signed,
    )

    keys = [read_signing_key(path, ask_passphrase) for path in args.key]
    for path in filter(is_readable_by_others, args.key):
        note(f"others can read {path}: chmod 600 {path}")
    names = sign_builds(args.dir.resolve(), keys, keeps_others=args.add)
    for name in sigstore_signed(args.dir.resolve()):
        note(
            f"{name} also has a sigstore bundle: Hugging Face's `kernels verify-signature` will "
            f"call {SIGNATURE_FILE} an unknown file there; ours accepts both"
        )
    key_ids = [key.public.key_id for key in keys]
    if args.json:
        print_json({"variants": list(names), "key_ids": key_ids})
    else:
        for name in names:
            print(f"signed {name} with {', '.join(key_ids)}")
    return 0


def ask_passphrase(path: Path) -> bytes | None:
    """Return the passphrase of a key; None when there is nobody to ask."""
    if os.environ.get(PASSPHRASE):
        return os.environ[PASSPHRASE].encode()
    if not sys.stdin.isatty():
        return None
    return getpass.getpass(f"passphrase of {path}: ").encode() or None


def prompt_new_passphrase(path: Path) -> bytes:
    """Return a passphrase that was typed twice.

    Raises:
        SigningError: there is no terminal, or the two are not one and the same.
    """
    if not sys.stdin.isatty():
        raise SigningError(
            "there is no terminal to type a passphrase on",
            where=str(path),
            hint=f"set {PASSPHRASE}",
        )
    first = getpass.getpass(f"new passphrase of {path}: ")
    if not first or first != getpass.getpass("again: "):
        raise SigningError("no passphrase, or not the same one twice", where=str(path))
    return first.encode()
