"""sigstore bundles, verified without a network: the trust root is a file.

What sigstore's log, certificate authority and timestamps have to show is sigstore's own business:
its package decides. This module gives it a root, and turns its many exceptions into two.
"""

from __future__ import annotations

import logging
from importlib import resources
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from kernelmill.runtime.errors import MissingDependency
from kernelmill.spec.errors import SignatureError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from sigstore.models import Bundle, TrustedRoot

    from kernelmill.runtime.signatures.policies import Policy

log = logging.getLogger(__name__)

MAX_BUNDLE_BYTES: Final = 1024 * 1024
"""A bundle of today has 5 to 15 kB."""
_PRODUCTION: Final = "https://tuf-repo-cdn.sigstore.dev"
# What sigstore, pydantic and cryptography raise for bundles that are wrong in ways sigstore does
# not name: a certificate without an extension, with a key of another kind, a time out of range.
_MALFORMED: Final = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    OSError,
    RecursionError,
)


class BundleInvalid(Exception):
    """A bundle cannot be read."""


class BundleRejected(Exception):
    """A bundle is not a signature of these bytes by somebody who is trusted."""


def parse_bundle(content: bytes) -> Bundle:
    """Read a bundle.

    Raises:
        BundleInvalid: it is not one.
        MissingDependency: sigstore is not installed.
    """
    ensure_sigstore()
    from sigstore.errors import Error  # noqa: PLC0415 - takes 0.3 s, and is optional
    from sigstore.models import Bundle  # noqa: PLC0415 - as above

    try:
        return Bundle.from_json(content)
    except (Error, *_MALFORMED) as error:
        raise BundleInvalid(_reason(error)) from error


def ensure_verified(
    artifact: bytes, bundle: Bundle, policies: Sequence[Policy], trust_root: Path | None
) -> None:
    """Stop here unless ``bundle`` is a signature of ``artifact`` that a policy accepts.

    Args:
        artifact: what was signed.
        bundle: the signature.
        policies: one of them has to accept.
        trust_root: ``trusted_root.json``; None for the one that comes with sigstore.

    Raises:
        BundleRejected: it is not.
        SignatureError: the trust root cannot be used.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - optional
    from cryptography.x509 import ExtensionNotFound  # noqa: PLC0415 - as above
    from sigstore.errors import Error  # noqa: PLC0415 - as above
    from sigstore.verify import Verifier, policy  # noqa: PLC0415 - as above

    root = read_trust_root(trust_root)
    try:
        verifier = Verifier(trusted_root=root)
    except (Error, *_MALFORMED) as error:
        raise _bad_root(trust_root, _reason(error)) from error
    try:
        verifier.verify_artifact(artifact, bundle, policy.AnyOf(list(policies)))
    except (Error, ExtensionNotFound, UnsupportedAlgorithm, *_MALFORMED) as error:
        raise BundleRejected(_reason(error)) from error


def read_trust_root(path: Path | None) -> TrustedRoot:
    """Return the keys and certificates that sigstore's services use.

    Raises:
        SignatureError: the file cannot be used.
    """
    from sigstore.errors import Error  # noqa: PLC0415 - optional
    from sigstore.models import TrustedRoot  # noqa: PLC0415 - as above

    try:
        if path is not None:
            return TrustedRoot.from_file(str(path))
        with resources.as_file(_bundled_root()) as bundled:
            return TrustedRoot.from_file(str(bundled))
    except OSError as error:
        raise _bad_root(path, error.strerror or "cannot be read") from error
    except (Error, ValueError) as error:
        raise _bad_root(path, _reason(error)) from error


def _bundled_root() -> Traversable:
    # NOTE: sigstore's own way to it, ClientTrustConfig.production(offline=True), writes into the
    # home folder first, and from then on prefers that copy to the one of a newer release.
    return resources.files("sigstore").joinpath(
        "_store", quote(_PRODUCTION, safe=""), "trusted_root.json"
    )


def _bad_root(path: Path | None, reason: str) -> SignatureError:
    return SignatureError(
        f"not a usable trust root: {reason}",
        where=str(path or "the trust root that comes with sigstore"),
        hint="give a trusted_root.json: --trust-root FILE or KERNELS_SIGSTORE_TRUST_ROOT",
    )


def ensure_sigstore() -> None:
    """Stop here unless sigstore is installed."""
    try:
        import sigstore.models  # noqa: F401, PLC0415 - optional
    except ImportError as error:
        raise MissingDependency(
            "verifying a sigstore bundle needs the package 'sigstore'",
            hint='pip install ".[sigstore]" in a clone of kernelmill',
        ) from error


def _reason(error: BaseException) -> str:
    """Return an error's first lines: pydantic and sigstore quote what they were given at length."""
    text = str(error) or type(error).__name__
    return text if len(text) <= 500 else f"{text[:500]}..."
