"""Edition 4 of ``build.toml``: all but dependencies on kernels, and one stable ABI for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kernelmill.spec.editions import v3
from kernelmill.spec.editions.edits import Put
from kernelmill.spec.names import KernelName

if TYPE_CHECKING:
    from kernelmill.spec.editions.step import Keys, Step

KEYS: Final[Keys] = {
    **v3.KEYS,
    ("general",): (*v3.KEYS["general",], "source"),
    ("torch",): (*v3.KEYS["torch",], "stable-abi", "cxx-flags"),
    ("tvm-ffi",): (*v3.KEYS["tvm-ffi",], "cxx-flags"),
}


def upgrade(step: Step) -> None:
    """Make edition 5: say so."""
    _upgrade_name(step)
    stable_abi = step.table("torch").get("stable-abi")
    if isinstance(stable_abi, Mapping):
        hint = "edition 5 has a version per backend: add edition = 5 to [general]"
        step.fail(("torch", "stable-abi"), "edition 4 has one version for all backends", hint)
    if isinstance(step.document.get("general"), Mapping):
        step.edits.append(Put(("general", "edition"), 5))


def _upgrade_name(step: Step) -> None:
    """Write dashes for underscores, which names had in editions 1 to 3.

    Some files of edition 3 cannot be told from edition 4, so this is done here, for all.
    """
    name = step.table("general").get("name")
    if isinstance(name, str) and "_" in name:
        dashed = name.replace("_", "-")
        if KernelName.is_valid(dashed):
            step.edits.append(Put(("general", "name"), dashed))
            step.assumed.append(f"the name {dashed!r} for {name!r}: the Python name stays")
