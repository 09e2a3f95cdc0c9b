"""What a verification found: the alternatives of Hugging Face's ``kernels``, in its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never


@dataclass(frozen=True, slots=True)
class SignatureBundleMissing:
    """Nobody who could be trusted here has signed the metadata."""


@dataclass(frozen=True, slots=True)
class SignatureBundleInvalid:
    """A signature file cannot be read."""

    reason: str


@dataclass(frozen=True, slots=True)
class MetadataMissing:
    """There is no ``metadata.json``."""


@dataclass(frozen=True, slots=True)
class SignatureVerificationFailure:
    """The signature is not one of this metadata, or not by anybody who is trusted."""

    reason: str


@dataclass(frozen=True, slots=True)
class MetadataInvalid:
    """What was signed is not readable metadata."""

    reason: str


@dataclass(frozen=True, slots=True)
class DigestMissing:
    """The metadata lists no files, so its signature says nothing about them."""


@dataclass(frozen=True, slots=True)
class DigestVerificationFailure:
    """The files are not those that the signed metadata lists."""

    violations: list[str]
    """In the digest's words, such as ``Missing file: __init__.py``."""


@dataclass(frozen=True, slots=True)
class Success:
    """The metadata is signed by somebody who is trusted, and the files are those it lists."""

    signer: str = ""
    """The key or the policy that was satisfied."""


Result: TypeAlias = (
    SignatureBundleMissing
    | SignatureBundleInvalid
    | MetadataMissing
    | SignatureVerificationFailure
    | MetadataInvalid
    | DigestMissing
    | DigestVerificationFailure
    | Success
)


class VerificationResult:
    """The alternatives under the names that callers match on."""

    SignatureBundleMissing = SignatureBundleMissing
    SignatureBundleInvalid = SignatureBundleInvalid
    MetadataMissing = MetadataMissing
    SignatureVerificationFailure = SignatureVerificationFailure
    MetadataInvalid = MetadataInvalid
    DigestMissing = DigestMissing
    DigestVerificationFailure = DigestVerificationFailure
    Success = Success
    Any: TypeAlias = Result


def describe(result: Result) -> str:
    """Return one sentence for people, with further lines where there is more to say."""
    match result:
        case Success():
            text = "kernel metadata is correctly signed"
        case SignatureBundleMissing():
            text = "cannot verify kernel integrity, signature not found"
        case SignatureBundleInvalid(reason=reason):
            text = f"cannot verify kernel integrity, invalid signature bundle:\n{reason}"
        case MetadataInvalid(reason=reason):
            text = f"cannot verify kernel integrity, invalid metadata:\n{reason}"
        case MetadataMissing() | DigestMissing():
            text = "cannot verify kernel integrity, metadata does not have a digest"
        case DigestVerificationFailure(violations=violations):
            text = "\n".join(("kernel integrity check failed", *violations))
        case SignatureVerificationFailure(reason=reason):
            text = f"metadata signature verification failed:\n{reason}"
        case _:
            assert_never(result)
    return text
