"""Keys of binary caches, as ``nix key generate-secret`` writes them: ``NAME:base64``, ed25519."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import FilesExist, SigningError, ToolchainError, install_hint
from kernelmill.spec.errors import InputError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

_SPELLING: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]{1,64}):(?P<value>[A-Za-z0-9+/]+={0,2})")
_PUBLIC_BYTES: Final = 32
_SECRET_BYTES: Final = 64
"""The seed, and then the public half."""
_MAX_FILE_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedKey:
    """The public half of somebody's key."""

    name: str
    raw: bytes

    def __str__(self) -> str:
        return f"{self.name}:{base64.b64encode(self.raw).decode()}"

    def verifies(self, message: bytes, signature: str) -> bool:
        """Tell whether ``signature`` is this key's, of ``message``."""
        _ensure_cryptography()
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - optional
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - as above

        name, _, value = signature.partition(":")
        if name != self.name:
            return False
        public = ed25519.Ed25519PublicKey.from_public_bytes(self.raw)
        try:
            public.verify(base64.b64decode(value, validate=True), message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKey:
    """A key that can sign."""

    public: TrustedKey
    _seed: bytes = field(repr=False)

    def sign(self, message: bytes) -> str:
        """Return this key's signature of ``message``: ``NAME:base64``."""
        _ensure_cryptography()
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - optional

        value = ed25519.Ed25519PrivateKey.from_private_bytes(self._seed).sign(message)
        return f"{self.public.name}:{base64.b64encode(value).decode()}"


def parse_trusted(text: str, *, where: str) -> TrustedKey:
    """Read a public key.

    Raises:
        InputError: it is none; a secret key is named as such.
    """
    name, raw = _parse(text, where)
    if len(raw) == _SECRET_BYTES:
        raise InputError("this is a secret key, and the public one is wanted", where=where)
    if len(raw) != _PUBLIC_BYTES:
        raise _not_a_key(where)
    return TrustedKey(name=name, raw=raw)


def read_secret(path: Path) -> SecretKey:
    """Read a secret key's file.

    Raises:
        SigningError: it is none.
    """
    hint = f"make one: kernel-builder cache keygen NAME {path}"
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES)
    except OSError as error:
        raise SigningError(
            f"cannot be read: {error.strerror}", where=str(path), hint=hint
        ) from error
    try:
        name, raw = _parse(content.decode("ascii", "replace").strip(), str(path))
    except InputError:  # not chained: it quotes nothing, and neither should a log
        raise SigningError("not a secret key of Nix's format", where=str(path), hint=hint) from None
    if len(raw) != _SECRET_BYTES:
        raise SigningError("this is no secret key", where=str(path), hint=hint)
    seed, public = raw[:_PUBLIC_BYTES], raw[_PUBLIC_BYTES:]
    return SecretKey(public=TrustedKey(name=name, raw=public), _seed=seed)


def generate(name: str, path: Path) -> TrustedKey:
    """Write a new secret key to ``path`` and its public half to ``<path>.pub``.

    Raises:
        InputError: no key can have this name.
        FilesExist: one of the files is there.
        SigningError: they cannot be written.
    """
    _ensure_cryptography()
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - optional

    if not _SPELLING.fullmatch(f"{name}:AAAA"):
        raise InputError(f"{name!r} cannot name a key", hint="such as cache.example.org-1")
    private = ed25519.Ed25519PrivateKey.generate()
    public = TrustedKey(name=name, raw=private.public_key().public_bytes_raw())
    secret = base64.b64encode(private.private_bytes_raw() + public.raw).decode()
    _write_new(path, f"{name}:{secret}", mode=0o600)
    _write_new(path.with_name(f"{path.name}.pub"), f"{public}", mode=0o644)
    return public


def _parse(text: str, where: str) -> tuple[str, bytes]:
    match = _SPELLING.fullmatch(text)
    if match is None:
        raise _not_a_key(where)
    try:
        return match["name"], base64.b64decode(match["value"], validate=True)
    except ValueError:
        raise _not_a_key(where) from None


def _not_a_key(where: str) -> InputError:
    return InputError("not a key of a binary cache", where=where, hint="it is NAME:base64")


def _write_new(path: Path, content: str, *, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        raise FilesExist(
            "is there already, and a key that is lost cannot be made again", where=str(path)
        ) from None
    except OSError as error:
        raise SigningError(f"cannot be written: {error.strerror}", where=str(path)) from error
    with os.fdopen(descriptor, "w") as file:
        file.write(content)


def _ensure_cryptography() -> None:
    try:
        import cryptography  # noqa: F401, PLC0415 - optional
    except ImportError as error:
        raise ToolchainError(
            "signatures of caches need the package 'cryptography'", hint=install_hint("signing")
        ) from error
