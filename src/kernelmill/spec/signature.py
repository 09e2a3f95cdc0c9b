"""``metadata.json.sig``: who vouches for a build, with ed25519 keys that need no service.

A signature covers the exact bytes of ``metadata.json``, whose digest covers the build's files. The
message that a key signs is ``DOMAIN`` and then those bytes, so that it can never be taken for a
message of another kind::

    {
      "version": 1,
      "signatures": [
        {"algorithm": "ed25519", "key-id": "<64 hex digits>", "signature": "<base64 of 64 bytes>"}
      ]
    }

A key's id is the SHA-256 of its public half in DER (RFC 8410), in hexadecimal digits: a hint where
to look, not a proof. Public keys are PEM files (``BEGIN PUBLIC KEY``), as OpenSSL writes them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Final, Literal

from kernelmill.spec.digest import SIGNATURE_FILE
from kernelmill.spec.errors import InputError, SignatureError
from kernelmill.spec.reader import Faults, Place, choice, each, natural, table, text, unique_keys

DOMAIN: Final = b"kernelmill:metadata.json:1\n"
"""What the signed message begins with."""
FORMAT_VERSION: Final = 1
MAX_SIGNATURES: Final = 16
MAX_BYTES: Final = 16 * 1024
"""More than ``MAX_SIGNATURES`` take: a larger file is not read."""

Algorithm = Literal["ed25519"]
_ALGORITHMS: Final[tuple[Algorithm, ...]] = ("ed25519",)
_SIGNATURE_BYTES: Final = 64
_KEY_BYTES: Final = 32
_KEY_ID: Final = re.compile(r"[0-9a-f]{64}")
# SEQUENCE { SEQUENCE { OID 1.3.101.112 } BIT STRING }, up to the 32 bytes of the key (RFC 8410).
_DER_HEAD: Final = bytes.fromhex("302a300506032b6570032100")
_PEM: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\s*([A-Za-z0-9+/=\s]*?)-----END \1-----")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """The public half of an ed25519 key."""

    raw: bytes
    """32 bytes."""

    @property
    def key_id(self) -> str:
        """64 hexadecimal digits, as ``openssl pkey -pubin -outform DER | sha256sum`` gives them."""
        return hashlib.sha256(_DER_HEAD + self.raw).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One key's signature."""

    key_id: str
    algorithm: Algorithm = "ed25519"
    value: bytes
    """64 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureSet:
    """The content of one signature file."""

    signatures: tuple[Signature, ...]


def signed_message(metadata: bytes) -> bytes:
    """Return what is signed for a ``metadata.json`` of these bytes."""
    return DOMAIN + metadata


def parse(content: str, *, where: str = SIGNATURE_FILE) -> SignatureSet:
    """Read a signature file. Whatever the format does not name is refused.

    Raises:
        SignatureError: it is not one; says where the first mistake is.
    """
    faults = Faults(file=where, lines={})
    if len(content) > MAX_BYTES:
        raise SignatureError(f"larger than {MAX_BYTES} bytes", where=where)
    try:
        raw = json.loads(content, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise SignatureError(
            f"not a signature file: {error}", where=where, hint="sign the build again"
        ) from error
    try:
        found = _signature_set(raw, Place(path=(), faults=faults))
    except InputError as error:
        raise SignatureError(error.problem, where=error.where, hint=error.hint) from error
    if faults.found:
        first = faults.found[0]
        raise SignatureError(first.problem, where=first.where, hint=first.hint)
    return found


def _signature_set(raw: object, place: Place) -> SignatureSet:
    root = table(raw, place)
    version = root.required("version", natural, stand_in=FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise place.item("version").fail(
            f"signature format {version} is not known", "update kernelmill"
        )
    nothing: tuple[Signature, ...] = ()
    signatures = root.required("signatures", each(_signature, key=_key_of), stand_in=nothing)
    root.reject_unknown()
    if not place.faults.found and not 0 < len(signatures) <= MAX_SIGNATURES:
        raise place.item("signatures").fail(
            f"{len(signatures)} signatures", f"a file holds 1 to {MAX_SIGNATURES}"
        )
    return SignatureSet(signatures=signatures)


def _key_of(signature: Signature) -> str:
    return signature.key_id


def _signature(value: object, place: Place) -> Signature:
    item = table(value, place)
    signature = Signature(
        algorithm=item.required(
            "algorithm", choice("signature algorithm", _ALGORITHMS), stand_in="ed25519"
        ),
        key_id=item.required("key-id", _key_id, stand_in=""),
        value=item.required("signature", _signature_bytes, stand_in=b""),
    )
    item.reject_unknown()
    return signature


def _key_id(value: object, place: Place) -> str:
    written = text(value, place)
    if not _KEY_ID.fullmatch(written):
        raise place.fail("not a key id", "write 64 hexadecimal digits, in lower case")
    return written


def _signature_bytes(value: object, place: Place) -> bytes:
    written = text(value, place)
    raw = _from_base64(written)
    # One signature has one spelling: base64 also ends in bits that nobody reads.
    if len(raw) != _SIGNATURE_BYTES or _to_base64(raw) != written:
        raise place.fail("not a signature", f"write {_SIGNATURE_BYTES} bytes in base64")
    return raw


def dumps(signatures: SignatureSet) -> str:
    """Write a signature file: by key id, two spaces, one newline at the end."""
    entries = [
        {"algorithm": it.algorithm, "key-id": it.key_id, "signature": _to_base64(it.value)}
        for it in sorted(signatures.signatures, key=_key_of)
    ]
    return json.dumps({"version": FORMAT_VERSION, "signatures": entries}, indent=2) + "\n"


def parse_public_keys(content: str, *, where: str) -> tuple[PublicKey, ...]:
    """Read the public keys of a PEM file, one or more; text around them is a comment.

    Raises:
        SignatureError: it holds none, or something that is no ed25519 public key.
    """
    hint = "give the public keys that `kernel-builder keygen` wrote"
    keys: dict[bytes, PublicKey] = {}
    for label, body in _PEM.findall(content):
        if "PRIVATE" in label:
            raise SignatureError(
                "holds a private key", where=where, hint="keep it secret, and give the public one"
            )
        der = _from_base64("".join(body.split()))
        is_key = der.startswith(_DER_HEAD) and len(der) == len(_DER_HEAD) + _KEY_BYTES
        if label != "PUBLIC KEY" or not is_key:
            raise SignatureError(f"holds a {label} that is not ed25519", where=where, hint=hint)
        raw = der[len(_DER_HEAD) :]
        keys[raw] = PublicKey(raw=raw)
    if not keys or content.count("-----BEGIN ") != len(_PEM.findall(content)):
        problem = "holds half a key" if "-----BEGIN " in content else "holds no public key"
        raise SignatureError(problem, where=where, hint=hint)
    return tuple(keys.values())


def dumps_public_key(key: PublicKey) -> str:
    """Write a public key as PEM."""
    return (
        f"-----BEGIN PUBLIC KEY-----\n{_to_base64(_DER_HEAD + key.raw)}\n-----END PUBLIC KEY-----\n"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A GitHub workflow whose sigstore signatures are accepted."""

    repo_id: str
    """The repository whose sources it builds, ``org/name``."""
    signer_uri: str
    """``https://github.com/<org>/<repo>/.github/workflows/<file>@<ref>``."""


_WORKFLOW: Final = re.compile(
    r"https://github\.com/([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)/\.github/workflows/[^\s@]+@refs/[^\s@]+"
)


def parse_workflow(uri: str, *, where: str) -> Workflow:
    """Read a workflow's URI; the sources are those of the repository that holds the workflow."""
    match = _WORKFLOW.fullmatch(uri)
    if match is None:
        raise SignatureError(
            f"{uri!r} is not a GitHub workflow",
            where=where,
            hint="write https://github.com/ORG/REPO/.github/workflows/build.yaml@refs/heads/main",
        )
    return Workflow(repo_id=match[1], signer_uri=uri)


def _to_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _from_base64(written: str) -> bytes:
    """Return the bytes, or none at all where ``written`` is not base64."""
    try:
        return base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        return b""
