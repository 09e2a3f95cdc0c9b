"""Allocations are found, bounded, freed and remembered."""

from __future__ import annotations

import numpy as np
import pytest

from kernelmill.emulator.access import gather, scatter, update
from kernelmill.emulator.errors import LaunchError
from kernelmill.emulator.memory import ALIGNMENT, Memory


def test_new_memory_is_aligned_and_poisoned() -> None:
    memory = Memory()
    address = memory.allocate(1000, label="x")
    assert address % ALIGNMENT == 0
    assert (memory.view(address, 1000) == 0xFF).all()


def test_an_address_is_found_when_it_lies_inside() -> None:
    memory = Memory()
    first, second = memory.allocate(100, label="first"), memory.allocate(100, label="second")
    for address, label in ((first, "first"), (second, "second")):
        for place in (0, 99):
            found = memory.find(address + place)
            assert found is not None
            assert found.label == label
        assert memory.find(address + 100) is None
        assert memory.find(address - 1) is None


def test_a_range_is_usable_when_one_allocation_holds_it() -> None:
    memory = Memory()
    address = memory.allocate(64)
    addresses = np.array([address, address + 60, address + 61, address - 1, 0])
    np.testing.assert_array_equal(
        memory.check(addresses, 4, writing=False), [True, True, False, False, False]
    )
    host = np.zeros(16, np.uint8)
    memory.add(host.ctypes.data, 16, writable=False)
    assert memory.spans(host.ctypes.data, host.ctypes.data + 16, writing=False)
    assert not memory.spans(host.ctypes.data, host.ctypes.data + 16, writing=True)


def test_freed_memory_is_remembered() -> None:
    memory = Memory()
    address = memory.allocate(64, label="gone")
    memory.free(address)
    assert memory.find(address) is None
    freed = memory.find_freed(address + 10)
    assert freed is not None
    assert str(freed) == f"allocation 'gone' of 64 bytes at {address:#x}"


def test_wrong_requests_are_refused() -> None:
    memory = Memory()
    address = memory.allocate(64, label="there")
    with pytest.raises(LaunchError, match="overlaps allocation 'there' of 64 bytes"):
        memory.add(address + 60, 8)
    with pytest.raises(LaunchError, match=f"no allocation begins at {address + 8:#x}"):
        memory.remove(address + 8)
    with pytest.raises(LaunchError, match=r"100 bytes at .* are not inside an allocation"):
        memory.view(address, 100)


def test_unwritten_bytes_are_known_until_someone_writes_them() -> None:
    memory = Memory()
    address = memory.allocate(64)
    addresses, lanes = np.array([[address, address + 8]]), np.ones((1, 2), np.bool_)
    found = memory.unwritten(addresses, lanes, 4)
    assert found is not None
    assert found.all()
    memory.mark_lanes(addresses, np.array([[True, False]]), 4)
    found = memory.unwritten(addresses, lanes, 4)
    assert found is not None
    assert found.tolist() == [[False, True]]
    memory.view(address, 64)
    found = memory.unwritten(addresses, lanes, 4)
    assert found is not None
    assert not found.any()
    host = np.zeros(16, np.uint8)
    memory.add(host.ctypes.data, 16)
    assert memory.unwritten(np.array([[host.ctypes.data]]), np.ones((1, 1), np.bool_), 4) is None


@pytest.mark.parametrize("width", [1, 2, 4, 8, 12, 16])
@pytest.mark.parametrize("shift", [0, 1, 2, 4, 8])
def test_bytes_come_back_at_any_alignment(width: int, shift: int) -> None:
    held = np.random.default_rng(1).integers(0, 256, 4096, dtype=np.uint8)
    base = -(-held.ctypes.data // 16) * 16 - held.ctypes.data
    place = base + shift + 16 * np.array([[3, 1, 4], [1, 5, 9]])
    words = gather(held.ctypes.data + place, width)
    octets = np.stack(words, axis=-1).view(np.uint8)[..., : max(width, 1)]
    np.testing.assert_array_equal(octets, held[place[..., None] + np.arange(width)])
    scatter(held.ctypes.data + place + 1024, width, words)
    np.testing.assert_array_equal(held[place[..., None] + 1024 + np.arange(width)], octets)


def test_updates_of_one_place_happen_in_order() -> None:
    held = np.array([10, 20], np.int64)
    addresses = held.ctypes.data + 8 * np.array([0, 1, 0, 0])
    values = np.array([1, 2, 3, 4], np.int64)
    old = update(addresses, values, lambda before, new: before * 2 + new)
    assert old.tolist() == [10, 20, 21, 45]
    assert held.tolist() == [94, 42]
