"""Downloads that are killed at any moment: ``make test-long``.

Nothing that was left is loaded as if it were whole, and the next load mends it.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from typing import TYPE_CHECKING, Final

import pytest
from tests.integration.cache_world import World, finish, world_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOWNLOADS: Final = int(os.environ.get("KERNELMILL_KILLS", "100"))
SEED: Final = 20261201
SOURCES: Final = {f"part{number}.py": f"NUMBER = {number}\n" * 2000 for number in range(40)}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_in(tmp_path) as world:
        world.upload(sources=SOURCES)
        yield world


def time_of_a_load(world: World) -> float:
    start = time.monotonic()
    assert world.load().startswith("1 ")
    return time.monotonic() - start


def check_names(cache: Path) -> None:
    """Whatever has a blob's name is what it is called after; whatever is linked is there."""
    from tests.unit.runtime.kernel_files import oid_of

    for blob in cache.rglob("blobs/*"):
        if not blob.name.endswith(".incomplete"):
            assert oid_of(blob.read_bytes()) == blob.name
    for link in cache.rglob("snapshots/*/build/torch-cpu/*"):
        assert link.exists(), f"{link} leads nowhere"


@pytest.mark.long
def test_killed_downloads_are_never_taken_for_whole_and_are_mended(world: World) -> None:
    """O10: seeded; half of the kills are followed by others before a load is let through."""
    numbers = random.Random(SEED)
    whole_s = time_of_a_load(world)
    shutil.rmtree(world.cache)
    kills = cut_short = 0
    while kills < DOWNLOADS:
        process = world.start()
        time.sleep(numbers.uniform(0.2, 1.0) * whole_s)
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
        assert output in {"", "1 True True\n", "1 False False\n"}
        kills += 1
        cut_short += output == ""
        check_names(world.cache)
        if numbers.random() < 0.5:
            continue
        # Without the Hub, what is left loads if it is all there, and is refused by name otherwise.
        said = finish(world.start(HF_HUB_OFFLINE="1"))
        assert said == "1 False False" or any(
            reason in said
            for reason in ("NotTrusted", "VersionNotFound", "NotCached", "DigestMismatch")
        ), said
        assert world.load().startswith("1 ")
        assert world.load() == "1 False False"
        assert world.load(HF_HUB_OFFLINE="1", KERNELS_STRICT="1") == "1 False False"
        check_names(world.cache)
        shutil.rmtree(world.cache)
    assert cut_short > DOWNLOADS // 4, "the kills came too late to test anything"
