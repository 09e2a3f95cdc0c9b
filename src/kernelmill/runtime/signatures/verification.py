"""Whether a build is signed by somebody who is trusted, and holds the files that were signed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.runtime import load

# NOTE: as a module, for loading also asks for signatures: each imports the other.
from kernelmill.runtime.cache import links_root
from kernelmill.runtime.integrity import check_integrity
from kernelmill.runtime.signatures import keys as key_signatures
from kernelmill.runtime.signatures import sigstore_bundle
from kernelmill.runtime.signatures.files import Unreadable, read_bounded
from kernelmill.runtime.signatures.policies import DEFAULT_POLICIES
from kernelmill.runtime.signatures.results import (
    DigestMissing,
    DigestVerificationFailure,
    MetadataInvalid,
    MetadataMissing,
    SignatureBundleInvalid,
    SignatureBundleMissing,
    SignatureVerificationFailure,
    Success,
)
from kernelmill.runtime.signatures.sigstore_bundle import BundleInvalid, BundleRejected
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec import signature as signature_format
from kernelmill.spec.digest import METADATA_FILE, SIGNATURE_FILE, SIGSTORE_FILE
from kernelmill.spec.errors import KernelError, SignatureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sigstore.models import Bundle

    from kernelmill.runtime.signatures.policies import Policy
    from kernelmill.runtime.signatures.results import Result
    from kernelmill.spec.metadata import Metadata
    from kernelmill.spec.signature import PublicKey, SignatureSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Signers:
    """Who is trusted: the owners of these keys, and whomever one of these policies accepts."""

    keys: tuple[PublicKey, ...] = ()
    policies: tuple[Policy, ...] = ()
    trust_root: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedMetadata:
    """Metadata whose signature holds. Its files were not looked at."""

    metadata: Metadata
    signer: str


def verify_variant(
    variant_path: Path | str,
    policies: Sequence[Policy] | None = None,
    *,
    keys: Sequence[PublicKey] = (),
    trust_root: Path | None = None,
    root: Path | None = None,
) -> Result:
    """Verify who signed a build's metadata, and that the build holds the files it lists.

    Args:
        variant_path: the build's folder.
        policies: whose sigstore signatures are accepted. Without policies and keys these are
            ``DEFAULT_POLICIES``.
        keys: whose ed25519 signatures are accepted, too.
        trust_root: sigstore's ``trusted_root.json``; by default the one that comes with sigstore.
            No network is used in either case.
        root: the folder that links may not leave; by default the build's own, or the cache for a
            build that is in huggingface_hub's cache.

    Raises:
        MissingDependency: what a signature of that kind needs is not installed.
        SignatureError: the trust root cannot be used.
    """
    folder = Path(variant_path)
    root = links_root(folder) if root is None else root
    if policies is None:
        policies = () if keys else DEFAULT_POLICIES
    signers = Signers(keys=tuple(keys), policies=tuple(policies), trust_root=trust_root)
    found = verify_metadata(folder, signers, root=root)
    if not isinstance(found, SignedMetadata):
        return found
    violations = check_integrity(folder, found.metadata.digest, root=root, is_thorough=True)
    if violations:
        return DigestVerificationFailure(violations=list(violations))
    return Success(signer=found.signer)


def verify_metadata(
    folder: Path, signers: Signers, *, root: Path, name: str = "kernel"
) -> Result | SignedMetadata:
    """Verify who signed a build's metadata. It is not parsed before that is known.

    Args:
        folder: the build.
        signers: who is trusted.
        root: the folder that links may not leave.
        name: the kernel's name, for builds so old that they do not give it.
    """
    evidence = _read_evidence(folder, signers, root)
    if not isinstance(evidence, _Evidence):
        return evidence
    try:
        content = read_bounded(
            folder / METADATA_FILE, root=root, limit_bytes=load.MAX_METADATA_BYTES
        )
    except Unreadable as error:
        return MetadataInvalid(reason=str(error))
    if content is None:
        return MetadataMissing()
    signer = _find_signer(content, evidence, signers)
    if isinstance(signer, SignatureVerificationFailure):
        return signer
    return _parse(content, folder, name=name, signer=signer)


def _parse(content: bytes, folder: Path, *, name: str, signer: str) -> Result | SignedMetadata:
    try:
        metadata = metadata_format.parse(
            content.decode("utf-8"),
            where=str(folder / METADATA_FILE),
            variant=load.variant_of(folder.name),
            name=name,
        )
    except (KernelError, UnicodeDecodeError) as error:
        return MetadataInvalid(reason=str(error))
    if metadata.digest is None:
        return DigestMissing()
    return SignedMetadata(metadata=metadata, signer=signer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """The signatures of a build that somebody who is trusted could have made."""

    key_signatures: SignatureSet | None
    bundle: Bundle | None
    complaints: tuple[str, ...]
    """What is wrong with a signature file, while the other one can be read."""


def _read_evidence(folder: Path, signers: Signers, root: Path) -> Result | _Evidence:
    key_signatures, bundle, complaints = None, None, []
    try:
        if signers.keys and (content := _read(folder / SIGNATURE_FILE, root)) is not None:
            key_signatures = signature_format.parse(
                content.decode("utf-8"), where=str(folder / SIGNATURE_FILE)
            )
    except (Unreadable, SignatureError, UnicodeDecodeError) as error:
        complaints.append(str(error))
    try:
        if signers.policies and (content := _read(folder / SIGSTORE_FILE, root)) is not None:
            bundle = sigstore_bundle.parse_bundle(content)
    except (Unreadable, BundleInvalid) as error:
        complaints.append(str(error))
    if key_signatures or bundle:
        return _Evidence(key_signatures=key_signatures, bundle=bundle, complaints=tuple(complaints))
    if complaints:
        return SignatureBundleInvalid(reason="\n".join(complaints))
    return SignatureBundleMissing()


def _read(path: Path, root: Path) -> bytes | None:
    is_ours = path.name == SIGNATURE_FILE
    limit = signature_format.MAX_BYTES if is_ours else sigstore_bundle.MAX_BUNDLE_BYTES
    return read_bounded(path, root=root, limit_bytes=limit)


def _find_signer(
    content: bytes, evidence: _Evidence, signers: Signers
) -> str | SignatureVerificationFailure:
    reasons = list(evidence.complaints)
    if evidence.key_signatures:
        key = key_signatures.find_signer(content, evidence.key_signatures, signers.keys)
        if key:
            return f"key {key.key_id}"
        reasons.append(key_signatures.explain_failure(evidence.key_signatures, signers.keys))
    if evidence.bundle:
        try:
            sigstore_bundle.ensure_verified(
                content, evidence.bundle, signers.policies, signers.trust_root
            )
        except BundleRejected as error:
            reasons.append(str(error))
        else:
            return "sigstore: " + " or ".join(map(_policy_name, signers.policies))
    return SignatureVerificationFailure(reason="\n".join(reasons))


def _policy_name(policy: Policy) -> str:
    return str(policy) if type(policy).__str__ is not object.__str__ else type(policy).__name__
