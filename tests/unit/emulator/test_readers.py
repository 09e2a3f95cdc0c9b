"""Readers of global memory are remembered, so that a write after a read of another wave is seen."""

from __future__ import annotations

import numpy as np
import pytest

from kernelmill.emulator.memory import Allocation, Memory
from kernelmill.emulator.readers import EPOCH_BITS, WAVE_BITS, Readers

BUFFER = Allocation(address=4096, size_bytes=64, label="", is_writable=True)


def stamp(*, group: int = 0, epoch: int = 0, wave: int = 0) -> int:
    return ((group << EPOCH_BITS) | epoch) << WAVE_BITS | (wave + 1)


def clash(reads: list[int], write: int, *, width: int = 4, read_at: int = 8, at: int = 8) -> bool:
    """Return whether a write clashes with reads; all reads are one instruction."""
    readers = Readers()
    places = np.full(len(reads), read_at, np.int64)
    readers.note(BUFFER, places, width, np.array(reads, np.uint32))
    found = readers.clash(BUFFER, np.array([at]), width, np.array([write], np.uint32))
    return bool(found[0])


@pytest.mark.parametrize(
    ("reads", "write", "is_race"),
    [
        pytest.param([stamp()], stamp(), False, id="its-own-read"),
        pytest.param([stamp()], stamp(wave=1), True, id="another-wave"),
        pytest.param([stamp()], stamp(wave=1, epoch=1), False, id="after-a-barrier"),
        pytest.param([stamp()], stamp(group=1, epoch=1), True, id="another-workgroup"),
        pytest.param([stamp(), stamp(wave=1)], stamp(wave=1), True, id="two-waves-then-either"),
        pytest.param([stamp(), stamp(wave=1)], stamp(epoch=1), False, id="two-waves-then-barrier"),
        pytest.param([stamp(group=1), stamp()], stamp(epoch=1), True, id="two-workgroups"),
    ],
)
def test_a_write_clashes_when_another_wave_read_before(
    reads: list[int], write: int, is_race: bool
) -> None:
    assert clash(reads, write) == is_race


@pytest.mark.parametrize(
    ("width", "read_at", "at", "is_race"),
    [
        pytest.param(4, 8, 12, False, id="next-word"),
        pytest.param(1, 8, 9, False, id="next-byte"),
        pytest.param(1, 9, 9, True, id="same-byte"),
        pytest.param(4, 9, 12, True, id="unaligned-words-overlap"),
        pytest.param(16, 16, 28, True, id="last-word-of-four"),
    ],
)
def test_a_write_clashes_when_bytes_overlap(
    width: int, read_at: int, at: int, is_race: bool
) -> None:
    assert clash([stamp()], stamp(wave=1), width=width, read_at=read_at, at=at) == is_race


def test_an_older_read_is_forgotten_when_its_workgroup_reads_after_a_barrier() -> None:
    readers, place = Readers(), np.array([0])
    for own in (stamp(wave=1), stamp(wave=0, epoch=1)):
        readers.note(BUFFER, place, 4, np.array([own], np.uint32))

    found = readers.clash(BUFFER, place, 4, np.array([stamp(epoch=1)], np.uint32))

    assert not found[0]


def test_freed_memory_is_not_given_out_again_when_it_was_just_freed() -> None:
    memory = Memory()
    address = memory.allocate(1000)
    memory.free(address)

    others = [memory.allocate(1000) for _ in range(20)]

    assert address not in others
    assert memory.find(address) is None
    freed = memory.find_freed(address)
    assert freed is not None
    assert freed.size_bytes == 1000
