"""Sign finished builds with ed25519 keys. A private key is read, used and never shown."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import (
    FilesExist,
    SigningError,
    SourceError,
    ToolchainError,
    install_hint,
)
from kernelmill.builder.package import OUTPUT_FOLDER, variant_files
from kernelmill.builder.writing import replace_text
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec import signature as signature_format
from kernelmill.spec.digest import (
    METADATA_FILE,
    SIGNATURE_FILE,
    SIGSTORE_FILE,
    compare,
    digest_files,
)
from kernelmill.spec.errors import InputError
from kernelmill.spec.signature import PublicKey, Signature, SignatureSet, signed_message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_MAX_KEY_FILE_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key that can sign."""

    public: PublicKey
    _private: Ed25519PrivateKey = field(repr=False)

    def sign(self, metadata: bytes) -> Signature:
        """Return the signature of a ``metadata.json`` of these bytes; always the same one."""
        value = self._private.sign(signed_message(metadata))
        return Signature(key_id=self.public.key_id, value=value)


def generate_key(path: Path, *, passphrase: bytes | None) -> PublicKey:
    """Write a new private key to ``path``, and its public half beside it, as ``<path>.pub``.

    Raises:
        FilesExist: one of the files is there already.
        ToolchainError: cryptography is not installed.
    """
    _ensure_cryptography()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - optional
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - as above

    public_path = public_file(path)
    if os.path.lexists(public_path):
        raise _exists(public_path)
    private = ed25519.Ed25519PrivateKey.generate()
    public = PublicKey(raw=private.public_key().public_bytes_raw())
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    _write_new(path, pem, mode=0o600)
    try:
        _write_new(public_path, signature_format.dumps_public_key(public).encode(), mode=0o644)
    except BaseException:
        path.unlink()
        raise
    return public


def public_file(path: Path) -> Path:
    """Return where the public half of a private key is."""
    return path.with_name(f"{path.name}.pub")


def read_signing_key(path: Path, ask_passphrase: Callable[[Path], bytes | None]) -> SigningKey:
    """Read a private key in PEM; OpenSSL's ed25519 keys are such.

    Args:
        path: its file.
        ask_passphrase: asked only for a key that is encrypted; None when there is no answer.

    Raises:
        SigningError: it is no ed25519 key, or the passphrase is wrong or missing.
        ToolchainError: cryptography is not installed.
    """
    _ensure_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - optional
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - as above
        load_pem_private_key,
    )

    content = _read_key_file(path)
    passphrase = ask_passphrase(path) if b"ENCRYPTED" in content else None
    try:
        private = load_pem_private_key(content, passphrase)
    except TypeError:  # not chained: what these errors quote is none of a log's business
        raise SigningError(
            "this key needs a passphrase",
            where=str(path),
            hint="set KERNEL_BUILDER_KEY_PASSPHRASE, or run it on a terminal",
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        problem = "wrong passphrase" if passphrase else "not a private key in PEM"
        raise SigningError(problem, where=str(path)) from None
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise SigningError(
            "not an ed25519 key", where=str(path), hint="make one with `kernel-builder keygen`"
        )
    public = PublicKey(raw=private.public_key().public_bytes_raw())
    return SigningKey(public=public, _private=private)


def is_readable_by_others(path: Path) -> bool:
    """Tell whether other users may read a private key."""
    return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def sign_builds(root: Path, keys: Sequence[SigningKey], *, keeps_others: bool) -> tuple[str, ...]:
    """Sign every build of a kernel and return their names. All are checked before any is signed.

    Args:
        root: the kernel's folder, which has ``build`` in it, or one build.
        keys: who signs; at least one.
        keeps_others: whether signatures by other keys stay.

    Raises:
        SourceError: there are no builds.
        SigningError: a build's files are not those that its metadata lists; lists every one.
        InputError: a build's metadata, or a signature that is to stay, cannot be read.
    """
    folders = _build_folders(root)
    signed = {folder: _signed(folder, keys, keeps_others) for folder in folders}
    for folder, content in signed.items():
        _write_signature(folder, content)
    return tuple(folder.name for folder in folders)


def sigstore_signed(root: Path) -> tuple[str, ...]:
    """Return the names of the builds that also have a sigstore bundle."""
    found = (each for each in _build_folders(root) if (each / SIGSTORE_FILE).is_file())
    return tuple(each.name for each in found)


def _build_folders(root: Path) -> list[Path]:
    if (root / METADATA_FILE).is_file():
        return [root]
    builds = root / OUTPUT_FOLDER
    found = sorted(path.parent for path in builds.glob(f"*/{METADATA_FILE}"))
    if not found:
        raise SourceError(
            "no build variants here", where=str(builds), hint="run `kernel-builder build` first"
        )
    return found


def _signed(folder: Path, keys: Sequence[SigningKey], keeps_others: bool) -> str:
    metadata = (folder / METADATA_FILE).read_bytes()
    _ensure_complete(folder, metadata)
    signatures = {key.public.key_id: key.sign(metadata) for key in keys}
    path = folder / SIGNATURE_FILE
    if keeps_others and path.is_file():
        there = signature_format.parse(path.read_text(encoding="utf-8"), where=str(path))
        signatures = {it.key_id: it for it in there.signatures} | signatures
    content = signature_format.dumps(SignatureSet(signatures=tuple(signatures.values())))
    signature_format.parse(content, where=str(path))  # not more of them than a file may hold
    return content


def _ensure_complete(folder: Path, content: bytes) -> None:
    """Stop here unless the digest in the bytes that are signed is that of the files."""
    where = str(folder / METADATA_FILE)
    try:
        metadata = metadata_format.parse(content.decode("utf-8"), where=where)
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", where=where) from error
    if metadata.digest is None:
        raise SigningError(
            "there is no digest, so a signature would say nothing about the files",
            where=where,
            hint="build it again with `kernel-builder build`, which writes one",
        )
    actual = digest_files(variant_files(folder), algorithm=metadata.digest.algorithm)
    if violations := compare(metadata.digest, actual):
        raise SigningError(
            f"these are not the files that were built: {'; '.join(map(str, violations))}",
            where=str(folder),
            hint="build it again with `kernel-builder build`, then sign",
        )


def _read_key_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_KEY_FILE_BYTES)
    except OSError as error:
        raise SigningError(
            f"cannot be read: {error.strerror}",
            where=str(path),
            hint="make a key with `kernel-builder keygen FILE`",
        ) from error


def _write_new(path: Path, content: bytes, *, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise SigningError(f"cannot be written: {error.strerror}", where=str(path)) from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _exists(path: Path) -> FilesExist:
    return FilesExist(
        "is there already, and a key that is lost cannot be made again",
        where=str(path),
        hint="choose another name",
    )


def _write_signature(folder: Path, content: str) -> None:
    # Beside the build: what a crash leaves in it would be a file that no digest lists.
    temporary = folder.with_name(f".{folder.name}.sig")
    try:
        replace_text(folder / SIGNATURE_FILE, content, temporary=temporary)
    except OSError as error:
        raise SigningError(
            f"the signature cannot be written: {error.strerror}", where=str(folder)
        ) from error


def _ensure_cryptography() -> None:
    try:
        import cryptography  # noqa: F401, PLC0415 - optional
    except ImportError as error:
        raise ToolchainError(
            "signing needs the package 'cryptography'", hint=install_hint("signing")
        ) from error
