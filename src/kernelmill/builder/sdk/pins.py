"""The files that SDKs are known to be made from: ``data/sdks.toml`` and ``toolchains.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Final

from kernelmill.builder.sdk.format import SdkInput

_LISTS: Final = ("sdks.toml", "toolchains.toml")


@cache
def known_inputs() -> dict[str, dict[str, tuple[SdkInput, ...]]]:
    """Return kind -> version -> files, in the files' order."""
    folder = resources.files("kernelmill.builder") / "data"
    texts = [(folder / name).read_text(encoding="utf-8") for name in _LISTS]
    return {
        kind: {
            version: tuple(SdkInput(**it) for it in inputs) for version, inputs in versions.items()
        }
        for text in texts
        for kind, versions in tomllib.loads(text).items()
    }


def known_files(kind: str, version: str, name: str) -> dict[str, str]:
    """Return file name -> sha256 of the known files of the package ``name``."""
    inputs = known_inputs().get(kind, {}).get(version, ())
    return {it.file: it.sha256 for it in inputs if it.name == name}
