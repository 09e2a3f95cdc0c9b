"""The trees of locked SDKs on this machine, each compared with its hash once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.store import missing

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.builder.sdk.store import Store


@dataclass(frozen=True, slots=True)
class LockedStore:
    """A store that gives only what is locked."""

    store: Store
    _trees: dict[str, Path] = field(default_factory=dict)

    def tree_of(self, locked: SdkRecord) -> Path:
        """Return the folder of an SDK.

        Raises:
            SdkMissing: it is not here.
            SdkError: what is here under its name is another one, or was changed.
        """
        if locked.name not in self._trees:
            self._trees[locked.name] = self._find(locked)
        return self._trees[locked.name]

    def _find(self, locked: SdkRecord) -> Path:
        found = [it for it in self.store.installed() if it.record.name == locked.name]
        if not found:
            raise missing(locked.kind, locked.version)
        (sdk,) = found
        if sdk.record.nar_sha256 != locked.nar_sha256:
            raise SdkError(
                f"{locked.name} is not the one that is locked: its NAR sha256 is "
                f"{sdk.record.nar_sha256}, want {locked.nar_sha256}",
                where=str(sdk.folder),
                hint=f"get the locked one, or lock this one: kernel-builder lock --update "
                f"{locked.name}",
            )
        if problem := self.store.verify(sdk):
            raise SdkError(
                f"{locked.name} was changed: {problem}",
                where=str(sdk.folder),
                hint=f"kernel-builder sdk fetch --force {locked.name}",
            )
        return sdk.tree
