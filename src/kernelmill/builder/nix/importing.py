"""Put SDKs into Nix's store, where derivations find them by name and hash."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from kernelmill.builder.cache.sdks import tree_path
from kernelmill.builder.errors import EntryRefused, SdkError, ToolchainError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.builder.sdk.store import Sdk, Store

_FEATURES: Final = ("--extra-experimental-features", "nix-command flakes")


def import_sdk(sdk: Sdk, store: Store, env: Mapping[str, str], *, nix_store: str = "") -> str:
    """Add an SDK's tree to Nix's store and return its path there.

    Args:
        sdk: which.
        store: where it is.
        env: Nix's settings are in it.
        nix_store: another store than the one that Nix is set to.

    Raises:
        EntryRefused: the SDK's files are not those that it was made of.
        ToolchainError: there is no Nix.
        SdkError: Nix did not take it.
    """
    if problem := store.verify(sdk):
        raise EntryRefused(problem, where=str(sdk.folder), hint="fetch the SDK again")
    nix = shutil.which("nix", path=env.get("PATH"))
    if nix is None:
        raise ToolchainError("there is no nix here", hint="install nix-bin, or Nix itself")
    where = ("--store", nix_store) if nix_store else ()
    done = subprocess.run(
        [nix, *_FEATURES, "store", "add-path", *where, "--name", sdk.record.name, str(sdk.tree)],
        env=dict(env),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SdkError(
            f"nix refused {sdk.record.name}: {done.stderr.strip()}", hint="see docs/nix.md"
        )
    path = done.stdout.strip()
    if path != tree_path(sdk.record):
        raise SdkError(f"nix put {sdk.record.name} at {path}, want {tree_path(sdk.record)}")
    return path
