"""O16: a lock's file is never removed, so that others who wait for it hold the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.workplace import only_build
from kernelmill.spec.errors import HostError

if TYPE_CHECKING:
    from pathlib import Path


def test_lock_file_stays_the_same_over_many_builds(tmp_path: Path) -> None:
    numbers = set()
    for _ in range(50):
        with only_build(tmp_path):
            numbers.add((tmp_path / "lock").stat().st_ino)
        numbers.add((tmp_path / "lock").stat().st_ino)
    assert len(numbers) == 1


def test_second_build_of_a_variant_is_told_to_wait(tmp_path: Path) -> None:
    with (
        only_build(tmp_path),
        pytest.raises(HostError, match="this variant is being built already"),
        only_build(tmp_path),
    ):
        pass
