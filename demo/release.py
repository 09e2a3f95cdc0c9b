"""The demo's builds as releases: locked, in a sandbox, and reproduced after the upload."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_BUILDER: Final = "kernelmill.builder"
_SDKS: Final = ("cxx-12.2.0", "tools-1", "zig-0.17.1", "abi-stubs-2.28", "torch-2.13.0")
VARIANTS: Final = ("torch213-cxx11-cpu-x86_64-linux", "torch213-cxx11-rocm71-x86_64-linux")


class Steps(Protocol):
    """What of the demo is used here."""

    source: Path

    def step(self, text: str) -> None:
        """Say what comes next."""

    def say(self, text: str) -> None:
        """Print ``text`` as it is."""

    def command(self, *args: str, env: Mapping[str, str] | None = None) -> str:
        """Run one command of ours and return what it printed."""


def sdk_folder(cache: Path) -> dict[str, str]:
    """Return where SDKs are kept: where the user says, else in the clone."""
    return {"KERNELMILL_SDKS": os.environ.get("KERNELMILL_SDKS") or str(cache / "sdks")}


def build_release(demo: Steps, cache: Path) -> None:
    """Fetch the SDKs that the flagship's lock names, and build its variants in a sandbox."""
    env = sdk_folder(cache)
    demo.step("fetch the SDKs of examples/gemm/build.lock: compiler, tools, clang, PyTorch")
    demo.command(_BUILDER, "sdk", "fetch", *_SDKS, env=env)
    demo.step("build examples/gemm from its lock in a sandbox, for the CPU and for gfx942")
    words = ["--release", "--variant", ",".join(VARIANTS)]
    demo.command(_BUILDER, "build", str(demo.source), *words, env=env)


def reproduce(demo: Steps, repository: str, cache: Path, env: Mapping[str, str]) -> None:
    """Build what was uploaded again, and compare it byte for byte: with it, and with the lock."""
    demo.step(f"build {repository} of the Hub again, and compare byte for byte")
    words = ["reproduce", repository, "--source", str(demo.source), "--variant", VARIANTS[1]]
    found = demo.command(_BUILDER, *words, env={**env, **sdk_folder(cache)})
    demo.say(found.rstrip())
