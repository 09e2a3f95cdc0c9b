"""``kernel-builder keygen``: make a key to sign builds with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_json, note, print_json
from kernelmill.builder.cli.sign import PASSPHRASE, prompt_new_passphrase

if TYPE_CHECKING:
    import argparse

HELP = "make an ed25519 key to sign builds with: FILE, to keep secret, and FILE.pub, to publish"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the private key; a new file")
    parser.add_argument(
        "--passphrase",
        action="store_true",
        help=f"encrypt the private key; asks on the terminal, unless {PASSPHRASE} is set",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write both files and print the public half's id."""
    from kernelmill.builder.signing import generate_key, public_file  # noqa: PLC0415 - only here

    passphrase = os.environ.get(PASSPHRASE, "").encode() or None
    if args.passphrase and not passphrase:
        passphrase = prompt_new_passphrase(args.file)
    public = generate_key(args.file, passphrase=passphrase)
    if args.json:
        files = {"private": str(args.file), "public": str(public_file(args.file))}
        print_json({**files, "key_id": public.key_id, "is_encrypted": bool(passphrase)})
    else:
        print(public.key_id)
        note(f"private key: {args.file}{' (encrypted)' if passphrase else ''}; keep it secret")
        note(f"public key: {public_file(args.file)}; give it to those who load your kernels")
    return 0
