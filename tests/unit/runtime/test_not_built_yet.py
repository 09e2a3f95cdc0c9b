"""A kernel's own folder before its first build: `example.py` is run too early."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.runtime.selection import select_local
from kernelmill.spec.errors import NoVariant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.spec.host import Host


@pytest.mark.parametrize("left", [(), ("build",)], ids=["never-built", "empty-build"])
def test_sources_alone_are_not_taken_for_a_build(
    tmp_path: Path, host: Host, left: tuple[str, ...]
) -> None:
    (tmp_path / "build.toml").touch()
    for name in ("torch-ext", ".kernelmill", *left):
        (tmp_path / name).mkdir()
    with pytest.raises(NoVariant) as caught:
        select_local(tmp_path, host)
    assert str(caught.value) == (
        f"nothing is built in '{tmp_path}' yet\n  hint: run `kernel-builder build {tmp_path}`"
    )


def test_a_build_that_does_not_fit_is_still_told_about(tmp_path: Path, host: Host) -> None:
    (tmp_path / "build.toml").touch()
    build = tmp_path / "build/torch-metal"
    build.mkdir(parents=True)
    (build / "metadata.json").touch()
    with pytest.raises(NoVariant, match=r"torch-metal: backend \(metal\) does not match"):
        select_local(tmp_path, host)
