"""ed25519 signatures: which trusted key, if any, signed a build's metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import MissingDependency
from kernelmill.runtime.files import TooLarge, read_text
from kernelmill.spec.errors import SignatureError
from kernelmill.spec.signature import parse_public_keys, signed_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kernelmill.spec.signature import PublicKey, SignatureSet

_KEY_SUFFIXES: Final = (".pem", ".pub")
_MAX_KEY_FILE_BYTES: Final = 1024 * 1024


def find_signer(
    metadata: bytes, signatures: SignatureSet, keys: Iterable[PublicKey]
) -> PublicKey | None:
    """Return a key of ``keys`` whose signature of ``metadata`` is among ``signatures``.

    Raises:
        MissingDependency: the package that does the arithmetic is not installed.
    """
    try:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - optional
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingDependency(
            "verifying an ed25519 signature needs the package 'cryptography'",
            hint='pip install ".[signing]" in a clone of kernelmill',
        ) from error
    trusted = {key.key_id: key for key in keys}
    for signature in signatures.signatures:
        key = trusted.get(signature.key_id)
        if key is None:
            continue
        try:
            ed25519.Ed25519PublicKey.from_public_bytes(key.raw).verify(
                signature.value, signed_message(metadata)
            )
        except InvalidSignature:
            continue
        return key
    return None


def explain_failure(signatures: SignatureSet, keys: Sequence[PublicKey]) -> str:
    """Say why no key of ``keys`` vouches for the metadata."""
    signers = sorted(each.key_id for each in signatures.signatures)
    trusted = {key.key_id for key in keys}
    if not trusted.intersection(signers):
        return f"no trusted key signed it; it was signed by {', '.join(signers)}"
    bad = ", ".join(each for each in signers if each in trusted)
    return f"the signature by {bad} is not one of this metadata.json"


def read_trusted_keys(path: Path) -> tuple[PublicKey, ...]:
    """Return the public keys in a PEM file, or in a folder's ``*.pem`` and ``*.pub`` files.

    Raises:
        SignatureError: there are none, or something is not a public key.
    """
    files = [path]
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.suffix in _KEY_SUFFIXES)
    found = [key for file in files for key in parse_public_keys(_read(file), where=str(file))]
    if not found:
        raise SignatureError(
            "there is no public key", where=str(path), hint="add a file, name.pem or name.pub"
        )
    return tuple({key.raw: key for key in found}.values())


def _read(path: Path) -> str:
    hint = "give a PEM file of public keys, or a folder of such files"
    try:
        return read_text(path, limit_bytes=_MAX_KEY_FILE_BYTES)
    except TooLarge as error:
        raise SignatureError("too large for a file of keys", where=str(path), hint=hint) from error
    except OSError as error:
        raise SignatureError(
            f"cannot be read: {error.strerror}", where=str(path), hint=hint
        ) from error
    except UnicodeDecodeError as error:
        raise SignatureError("not a PEM file", where=str(path), hint=hint) from error
