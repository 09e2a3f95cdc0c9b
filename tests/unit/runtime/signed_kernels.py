"""Keys, and builds that they signed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.spec.signature import (
    PublicKey,
    Signature,
    SignatureSet,
    dumps,
    dumps_public_key,
)

if TYPE_CHECKING:
    from pathlib import Path

DOMAIN = b"kernelmill:metadata.json:1\n"  # as documented, not as the code says it


@dataclass(frozen=True)
class Signer:
    """Somebody with a key."""

    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public(self) -> PublicKey:
        return PublicKey(raw=self.private.public_key().public_bytes_raw())

    def signature(self, metadata: bytes, *, domain: bytes = DOMAIN) -> Signature:
        return Signature(key_id=self.public.key_id, value=self.private.sign(domain + metadata))

    def file(self, metadata: bytes) -> bytes:
        return dumps(SignatureSet(signatures=(self.signature(metadata),))).encode()

    def write_public(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dumps_public_key(self.public))
        return path


def signed_files(signer: Signer, *, value: object = 1, has_digest: bool = True) -> dict[str, bytes]:
    """Return the files of a signed build."""
    files = kernel_files(value=value, has_digest=has_digest)
    return files | {"metadata.json.sig": signer.file(files["metadata.json"])}


def write_signed(folder: Path, signer: Signer, *, value: object = 1) -> Path:
    """Write a signed build and return its folder."""
    return write_files(folder / "torch-cpu", signed_files(signer, value=value))
