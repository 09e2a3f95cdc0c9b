"""A sigstore of our own: certificate authority, certificate log and transparency log, in memory.

It signs as the public one does, with keys made here, so that sigstore's own verifier, given this
instance's trust root, checks every signature, proof and time of a bundle, without a network.

Sources: Fulcio's OIDs (fulcio, docs/oid-info.md), signed certificate timestamps (RFC 6962, 3.2),
Merkle trees (RFC 6962, 2.1), signed entry timestamps and checkpoints (Rekor), bundles
(sigstore/protobuf-specs, sigstore_bundle.proto, version 0.3).
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from pathlib import Path

ISSUER: Final = "https://token.actions.githubusercontent.com"
SIGNED_AT: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
_FULCIO: Final = "1.3.6.1.4.1.57264.1"
_SCT_LIST: Final = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_ORIGIN: Final = "log.test - 1"


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _spki(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _key_id(key: ec.EllipticCurvePrivateKey) -> bytes:
    return hashlib.sha256(_spki(key)).digest()


def _sign(key: ec.EllipticCurvePrivateKey, message: bytes) -> bytes:
    return key.sign(message, ec.ECDSA(hashes.SHA256()))


def _b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _canonical(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 0x80 else b"\x82" + size.to_bytes(2)
    return bytes([tag]) + length + content


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who a certificate is for; by default the workflow that signs kernels-community."""

    repo_id: str = "huggingface/kernels-community"
    workflow: str = "build.yaml"
    ref: str = "refs/heads/main"
    issuer: str = ISSUER
    new_issuer: str = ISSUER
    """Fulcio writes the issuer twice, in an old form and in a new one."""
    source: str = ""
    """The repository that is built, when it is not the workflow's own."""
    has_key_usage: bool = True

    @property
    def signer_uri(self) -> str:
        return f"https://github.com/{self.repo_id}/.github/workflows/{self.workflow}@{self.ref}"

    def extensions(self) -> list[x509.UnrecognizedExtension]:
        texts = {
            8: self.new_issuer,
            9: self.signer_uri,
            12: f"https://github.com/{self.source or self.repo_id}",
        }
        values = {1: self.issuer.encode()}
        values |= {number: _der(0x0C, text.encode()) for number, text in texts.items()}
        return [
            x509.UnrecognizedExtension(x509.ObjectIdentifier(f"{_FULCIO}.{number}"), value)
            for number, value in values.items()
        ]


@dataclass(kw_only=True)
class LocalSigstore:
    """The keys of one instance, and what it issues."""

    ca_key: ec.EllipticCurvePrivateKey = field(default_factory=_new_key)
    ct_key: ec.EllipticCurvePrivateKey = field(default_factory=_new_key)
    log_key: ec.EllipticCurvePrivateKey = field(default_factory=_new_key)
    ca: x509.Certificate = field(init=False)

    def __post_init__(self) -> None:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sigstore.test")])
        key = self.ca_key.public_key()
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key)
        builder = builder.serial_number(1).not_valid_before(SIGNED_AT - timedelta(days=365))
        builder = builder.not_valid_after(SIGNED_AT + timedelta(days=3650))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(_usage(key_cert_sign=True), True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), False)
        self.ca = builder.sign(self.ca_key, hashes.SHA256())

    def write_trust_root(self, path: Path) -> Path:
        """Write ``trusted_root.json``."""
        period = {"start": "2025-01-01T00:00:00Z"}

        def log(url: str, key: ec.EllipticCurvePrivateKey) -> dict[str, object]:
            return {
                "baseUrl": url,
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": _b64(_spki(key)),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": period,
                },
                "logId": {"keyId": _b64(_key_id(key))},
            }

        root = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log("https://log.test", self.log_key)],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "sigstore.test", "commonName": "sigstore.test"},
                    "uri": "https://ca.test",
                    "certChain": {"certificates": [{"rawBytes": _b64(_certificate_der(self.ca))}]},
                    "validFor": period,
                }
            ],
            "ctlogs": [log("https://ct.test", self.ct_key)],
            "timestampAuthorities": [],
        }
        path.write_text(json.dumps(root))
        return path

    def sign(
        self,
        artifact: bytes,
        identity: Identity | None = None,
        *,
        signed_at: datetime = SIGNED_AT,
    ) -> bytes:
        """Return a bundle: a fresh key signs, and is certified for ``identity``."""
        key = _new_key()
        certificate = self._issue(key, identity or Identity())
        return self._bundle(certificate, artifact, _sign(key, artifact), signed_at)

    def _issue(self, key: ec.EllipticCurvePrivateKey, identity: Identity) -> x509.Certificate:
        public = key.public_key()
        builder = x509.CertificateBuilder().subject_name(x509.Name([])).public_key(public)
        builder = builder.issuer_name(self.ca.subject).serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(SIGNED_AT - timedelta(minutes=5))
        builder = builder.not_valid_after(SIGNED_AT + timedelta(minutes=5))
        names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity.signer_uri)])
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.ca_key.public_key())
        if identity.has_key_usage:
            builder = builder.add_extension(_usage(digital_signature=True), True)
        purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])
        builder = builder.add_extension(purpose, False)
        builder = builder.add_extension(names, True).add_extension(authority, False)
        for extension in identity.extensions():
            builder = builder.add_extension(extension, False)

        def certify(timestamp_signature: bytes) -> x509.Certificate:
            listed = self._timestamp_list(timestamp_signature)
            extension = x509.UnrecognizedExtension(_SCT_LIST, _der(0x04, listed))
            return builder.add_extension(extension, False).sign(self.ca_key, hashes.SHA256())

        # What the certificate log signs is the certificate without the log's own signature.
        return certify(_sign(self.ct_key, self._precertificate(certify(b"draft"))))

    def _precertificate(self, certificate: x509.Certificate) -> bytes:
        body = certificate.tbs_precertificate_bytes
        entry = _key_id(self.ca_key) + len(body).to_bytes(3) + body
        return b"\0\0" + _milliseconds() + b"\0\1" + entry + b"\0\0"

    def _timestamp_list(self, signature: bytes) -> bytes:
        sha256_ecdsa = b"\4\3"
        stamp = b"\0" + _key_id(self.ct_key) + _milliseconds() + b"\0\0" + sha256_ecdsa
        stamp += len(signature).to_bytes(2) + signature
        stamp = len(stamp).to_bytes(2) + stamp
        return len(stamp).to_bytes(2) + stamp

    def _bundle(
        self, certificate: x509.Certificate, artifact: bytes, signature: bytes, signed_at: datetime
    ) -> bytes:
        digest = hashlib.sha256(artifact)
        body = _canonical(_hashed_record(certificate, digest.hexdigest(), signature))
        entry = self._log_entry(body, int(signed_at.timestamp()))
        return json.dumps(
            {
                "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
                "verificationMaterial": {
                    "certificate": {"rawBytes": _b64(_certificate_der(certificate))},
                    "tlogEntries": [entry],
                },
                "messageSignature": {
                    "messageDigest": {"algorithm": "SHA2_256", "digest": _b64(digest.digest())},
                    "signature": _b64(signature),
                },
            }
        ).encode()

    def _log_entry(self, body: bytes, time_s: int) -> dict[str, object]:
        """Return the second entry of a log of two."""
        neighbour = hashlib.sha256(b"\0first entry").digest()
        root = hashlib.sha256(b"\1" + neighbour + hashlib.sha256(b"\0" + body).digest()).digest()
        log_id = _key_id(self.log_key)
        promise = {
            "body": _b64(body),
            "integratedTime": time_s,
            "logID": log_id.hex(),
            "logIndex": 1,
        }
        note = f"{_ORIGIN}\n2\n{_b64(root)}\n"
        note_signature = _b64(log_id[:4] + _sign(self.log_key, note.encode()))
        return {
            "logIndex": "1",
            "logId": {"keyId": _b64(log_id)},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.1"},
            "integratedTime": str(time_s),
            "inclusionPromise": {
                "signedEntryTimestamp": _b64(_sign(self.log_key, _canonical(promise)))
            },
            "inclusionProof": {
                "logIndex": "1",
                "rootHash": _b64(root),
                "treeSize": "2",
                "hashes": [_b64(neighbour)],
                "checkpoint": {"envelope": f"{note}\n\N{EM DASH} log.test {note_signature}\n"},
            },
            "canonicalizedBody": _b64(body),
        }


def _hashed_record(certificate: x509.Certificate, digest: str, signature: bytes) -> object:
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return {
        "apiVersion": "0.0.1",
        "kind": "hashedrekord",
        "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": digest}},
            "signature": {"content": _b64(signature), "publicKey": {"content": _b64(pem)}},
        },
    }


def _certificate_der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)


def _milliseconds() -> bytes:
    return int(SIGNED_AT.timestamp() * 1000).to_bytes(8)


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
