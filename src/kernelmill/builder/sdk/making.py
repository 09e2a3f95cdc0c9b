"""Make an SDK: get its files, run its recipe, hash the tree, put it into the store as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk import recipes
from kernelmill.builder.sdk.fetch import get_file
from kernelmill.builder.sdk.format import SdkRecord
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.store import is_within
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelmill.builder.sdk.store import Sdk, Store


def make_sdk(
    kind: str,
    version: str,
    store: Store,
    *,
    platform: str,
    cxx: str,
    offline: Path | None = None,
    note: Callable[[str], None],
) -> Sdk:
    """Make an SDK and return it; one of the same name is replaced.

    Args:
        kind: of the recipe.
        version: of the SDK.
        store: where it goes.
        platform: ``x86_64-linux``.
        cxx: this machine's C++ compiler.
        offline: the folder of the files it is made from; None to download them.
        note: called with a line for each step.

    Raises:
        InputError: there is no such recipe or version.
        SdkError: a file cannot be had, or is not the known one.
    """
    recipe = find_recipe(kind)
    with store.scratch() as scratch:
        files, inputs = {}, []
        for wanted in recipe.wanted(version, platform):
            files[wanted.name], found = get_file(
                wanted, platform=platform, offline=offline, scratch=scratch, note=note, cxx=cxx
            )
            inputs.append(found)
        tree = scratch / "made"
        made = recipe.make(files, platform, tree, note)
        if not is_within(made.version, version):
            raise SdkError(
                f"this makes {kind}-{made.version}, not {kind}-{version}",
                where=", ".join(it.file for it in inputs),
                hint="ask for the version that the files have",
            )
        record = SdkRecord(
            kind=kind,
            version=made.version,
            platform=platform,
            inputs=tuple(sorted(inputs)),
            facts=made.facts,
            nar_sha256=nar_sha256(tree),
        )
        return store.install(record, tree)


def find_recipe(kind: str) -> recipes.Recipe:
    """Return the recipe of ``kind``.

    Raises:
        InputError: there is none.
    """
    known = recipes.recipes()
    if kind not in known:
        raise InputError(f"no recipe makes {kind!r}", hint=f"there are: {', '.join(sorted(known))}")
    return known[kind]
