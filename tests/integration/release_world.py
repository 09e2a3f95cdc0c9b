"""What tests of release builds share: SDKs, and another user."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.conftest import ROOT, require_program

from kernelmill.builder.locking.files import read_lock
from kernelmill.builder.sdk.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelmill.builder.sdk.format import SdkRecord

KERNEL: Final = ROOT / "examples/relu-stable"
VARIANT: Final = "torch-stable-abi213-rocm71-x86_64-linux"
"""Small: of the stable ABI."""
OTHER_USER: Final = 12345


def locked_sdks() -> tuple[SdkRecord, ...]:
    """Return what the variant of the tests is locked to."""
    return read_lock(KERNEL)[0].sdks_of(VARIANT)


def require_store(records: Sequence[SdkRecord]) -> Store:
    """Return a store with ``records``; skip the test where it lacks one, or fail it in CI."""
    folder = os.environ.get("KERNELMILL_SDKS") or ROOT / ".cache/sdks"
    store = Store(Path(folder))
    here = {it.record.name: it.record for it in store.installed()}
    missing = [it.name for it in records if it.name not in here]
    if missing:
        reason = f"not in {folder}: {', '.join(missing)}: run `make .cache/sdks/ready`"
        if os.environ.get("KERNELMILL_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    others = [it.name for it in records if here[it.name].nar_sha256 != it.nar_sha256]
    if others:
        # Debian replaces packages, and an index may serve another flavour: nothing of ours broke.
        pytest.skip(f"another {', '.join(others)} than the locked one can be had here")
    return store


def as_other_user(store: Store, folder: Path) -> list[str]:
    """Return what comes before the arguments of a Python that another user runs in ``folder``.

    The toolchain's Python: everybody may run it, wherever the one of the tests lies.
    """
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    require_program("setpriv", package="util-linux")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, OTHER_USER, OTHER_USER)
    python = next(it.tree for it in store.installed() if it.record.kind == "cxx")
    identity = [f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]
    return ["setpriv", *identity, str(python / "usr/bin/python3.11")]


@contextmanager
def open_folder() -> Iterator[Path]:
    """Give a folder that every user may enter; those of pytest are closed to others."""
    with tempfile.TemporaryDirectory(prefix="kernelmill-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def environment(store: Store, **values: str) -> dict[str, str]:
    """Return the environment of a builder with the SDKs of ``store``."""
    tools = next(it.tree for it in store.installed() if it.record.kind == "tools")
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT / 'src'}:{tools}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "KERNELMILL_SDKS": str(store.folder),
        "KERNELMILL_PROBES": "",
        **values,
    }
