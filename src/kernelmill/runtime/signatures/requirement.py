"""The gate before an import: where signatures are required, nothing unsigned passes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kernelmill.runtime.cache import links_root
from kernelmill.runtime.errors import NotSigned
from kernelmill.runtime.signatures.settings import read_signature_settings

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime.signatures.settings import SignatureSettings
    from kernelmill.runtime.signatures.verification import Signers
    from kernelmill.spec.metadata import Metadata

log = logging.getLogger(__name__)


def ensure_signed(
    folder: Path,
    settings: SignatureSettings | None = None,
    *,
    metadata: Metadata | None = None,
    root: Path | None = None,
) -> bool:
    """Stop here unless the settings ask for no signature, or the build has one that they accept.

    Returns whether they ask for one.

    The build's files are not looked at: the signed metadata lists them, and whoever loads them
    compares them with it.

    Args:
        folder: the build.
        settings: what is asked for; by default what the environment says now.
        metadata: what is about to be loaded: it has to be what was signed, even when the file on
            disk has been exchanged since it was read.
        root: the folder that links may not leave; by default as in ``verify_variant``.

    Raises:
        NotSigned: the build is not signed by anybody who is trusted, or has no digest.
        MissingDependency: what a signature of that kind needs is not installed.
        InputError: the settings cannot be used.
    """
    settings = settings or read_signature_settings()
    if not settings.is_required:
        return False
    # Costs nothing where nothing is required.
    from kernelmill.runtime.signatures.results import describe  # noqa: PLC0415
    from kernelmill.runtime.signatures.verification import (  # noqa: PLC0415
        SignedMetadata,
        verify_metadata,
    )

    root = links_root(folder) if root is None else root
    name = metadata.name if metadata else "kernel"
    found = verify_metadata(folder, read_signers(settings), root=root, name=name)
    if not isinstance(found, SignedMetadata):
        raise _not_signed(folder, describe(found))
    if metadata is not None and found.metadata != metadata:
        raise _not_signed(folder, "metadata.json was exchanged while it was loaded")
    log.info("%s is signed by %s", folder, found.signer)
    return True


def read_signers(settings: SignatureSettings) -> Signers:
    """Return who is trusted; the default policies where nobody is named.

    Raises:
        SignatureError: a file of keys cannot be used.
    """
    from kernelmill.runtime.signatures.keys import read_trusted_keys  # noqa: PLC0415
    from kernelmill.runtime.signatures.policies import (  # noqa: PLC0415
        DEFAULT_POLICIES,
        workflow_policy,
    )
    from kernelmill.runtime.signatures.verification import Signers  # noqa: PLC0415

    keys = tuple(key for path in settings.key_paths for key in read_trusted_keys(path))
    policies = [workflow_policy(each) for each in settings.workflows]
    if not (keys or policies):
        return Signers(policies=tuple(DEFAULT_POLICIES), trust_root=settings.trust_root)
    return Signers(keys=keys, policies=tuple(policies), trust_root=settings.trust_root)


def _not_signed(folder: Path, problem: str) -> NotSigned:
    return NotSigned(
        f"kernel is not signed by anybody who is trusted here: {problem}",
        where=str(folder),
        hint="`kernels update REPO` fetches a signature that was made since; else ask its "
        "publisher for one, or add their key to KERNELS_TRUSTED_KEYS",
    )
