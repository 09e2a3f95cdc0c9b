"""Loads, stores and atomics of global memory, LDS, scratch and buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from tests.unit.emulator.bench import LANES, WAVES, Bench

from kernelmill.emulator.errors import DeviceFault
from kernelmill.emulator.sources import PRIVATE_APERTURE, SHARED_APERTURE

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.emulator.arrays import Array

SIZE: Final = 1 << 14
WIDTHS: Final = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4}


@pytest.fixture
def bench() -> Bench:
    return Bench(lds_bytes=SIZE)


def fill(bench: Bench) -> tuple[int, Array]:
    """Return the address of noise in global memory, and a view of it."""
    address = bench.memory.allocate(SIZE)
    view = bench.memory.view(address, SIZE)
    view[:] = np.random.default_rng(1).integers(0, 256, SIZE, dtype=np.uint8)
    return address, view


def places(step: int, shift: int = 0) -> Array:
    """Return a byte offset for each lane, in no simple order."""
    lanes = np.arange(WAVES * LANES).reshape(WAVES, LANES)
    return (lanes * 37 % (WAVES * LANES)) * step + shift


def octets(view: Array, place: Array, count: int) -> Array:
    return view[place[..., None] + np.arange(count)]


def span(index: int, count: int) -> str:
    return f"v[{index}:{index + count - 1}]" if count > 1 else f"v{index}"


def read(bench: Bench, index: int, count: int) -> Array:
    words = np.stack([bench.get(index + place, "u4") for place in range(count)], axis=-1)
    return np.ascontiguousarray(words).view(np.uint8)


@pytest.mark.parametrize("name", WIDTHS)
@pytest.mark.parametrize("shift", [0, 4, 2, 1])
def test_global_loads_and_stores_move_words(bench: Bench, name: str, shift: int) -> None:
    address, view = fill(bench)
    count, place = WIDTHS[name], places(16, shift)
    bench.put(10, (address + place).astype(np.uint64))
    bench.run(f"global_load_{name} {span(20, count)}, v[10:11], off offset:32")
    expected = octets(view, place + 32, 4 * count)
    np.testing.assert_array_equal(read(bench, 20, count), expected)
    bench.put_scalar(4, address, words=2)
    bench.put(12, place.astype(np.uint32))
    bench.run(f"global_store_{name} v12, {span(20, count)}, s[4:5] offset:8192")
    np.testing.assert_array_equal(octets(view, place + 8192, 4 * count), expected)


NARROW: Final = {
    "ubyte": (1, False), "sbyte": (1, True), "ushort": (2, False), "sshort": (2, True),
}  # fmt: skip


@pytest.mark.parametrize("space", ["global", "flat"])
@pytest.mark.parametrize("name", NARROW)
def test_narrow_loads_are_extended(bench: Bench, name: str, space: str) -> None:
    address, view = fill(bench)
    width, is_signed = NARROW[name]
    place = places(2)
    bench.put(10, (address + place).astype(np.uint64))
    bench.run(f"{space}_load_{name} v20, v[10:11]{', off' if space == 'global' else ''}")
    raw = octets(view, place, width)
    values = np.ascontiguousarray(raw).view(f"{'i' if is_signed else 'u'}{width}")[..., 0]
    np.testing.assert_array_equal(bench.get(20, "i4"), values.astype(np.int32))


@pytest.mark.parametrize(("name", "shift"), [("short_d16", 0), ("short_d16_hi", 16)])
def test_half_loads_keep_the_other_half(bench: Bench, name: str, shift: int) -> None:
    address, view = fill(bench)
    place = places(2)
    bench.put(10, (address + place).astype(np.uint64))
    before = bench.get(20, "u4").copy()
    bench.run(f"global_load_{name} v20, v[10:11], off")
    loaded = np.ascontiguousarray(octets(view, place, 2)).view(np.uint16)[..., 0]
    kept = before & np.uint32(0xFFFF_0000 >> shift)
    np.testing.assert_array_equal(bench.get(20, "u4"), loaded.astype(np.uint32) << shift | kept)


@pytest.mark.parametrize(("name", "first", "width"), [
    ("byte", 0, 1), ("byte_d16_hi", 2, 1), ("short", 0, 2), ("short_d16_hi", 2, 2),
])  # fmt: skip
def test_narrow_stores_write_their_part_only(
    bench: Bench, name: str, first: int, width: int
) -> None:
    address, view = fill(bench)
    before, place = view.copy(), places(4)
    bench.put(10, (address + place).astype(np.uint64))
    bench.run(f"global_store_{name} v[10:11], v20, off")
    expected = before.copy()
    expected[place[..., None] + np.arange(width)] = read(bench, 20, 1)[..., first : first + width]
    np.testing.assert_array_equal(view, expected)


def test_inactive_lanes_touch_nothing_when_their_addresses_are_wild(bench: Bench) -> None:
    address, view = fill(bench)
    before, place = view.copy(), places(4)
    wild = np.where(np.arange(LANES) % 2 == 0, address + place, 16)
    bench.put(10, wild.astype(np.uint64))
    bench.set_exec(0x5555_5555_5555_5555)
    old = bench.get(20, "u4").copy()
    bench.run("global_load_dword v20, v[10:11], off")
    loaded = np.ascontiguousarray(octets(view, place, 4)).view(np.uint32)[..., 0]
    even = np.arange(LANES) % 2 == 0
    np.testing.assert_array_equal(bench.get(20, "u4"), np.where(even, loaded, old))
    bench.run("global_store_dword v[10:11], v21, off")
    assert (view != before).any()


def test_a_wild_access_stops_with_its_place(bench: Bench) -> None:
    address, _ = fill(bench)
    bench.put(10, np.uint64(address + SIZE - 2))
    with pytest.raises(
        DeviceFault, match=r"read of 4 bytes at 0x[0-9a-f]+ is outside every"
    ) as caught:
        bench.run("global_load_dword v20, v[10:11], off")
    assert "workgroup 0, work-item 0" in str(caught.value)
    bench.memory.free(address)
    bench.put(10, np.uint64(address + 64))
    with pytest.raises(DeviceFault, match="inside the freed allocation"):
        bench.run("global_store_dword v[10:11], v20, off")


def test_scratch_belongs_to_each_lane(bench: Bench) -> None:
    values = bench.get(20, "u4").copy()
    bench.put_scalar(4, 16)
    bench.run("scratch_store_dword off, v20, s4 offset:4")
    bench.put(10, np.uint32(12))
    bench.run("scratch_load_dword v21, v10, off offset:8")
    np.testing.assert_array_equal(bench.get(21, "u4"), values)
    bench.put(10, np.uint64(PRIVATE_APERTURE + 20))
    bench.run("flat_load_dword v22, v[10:11]")
    np.testing.assert_array_equal(bench.get(22, "u4"), values)
    with pytest.raises(DeviceFault, match="4 bytes at 300 of scratch memory, which has 256"):
        bench.run("scratch_load_dword v21, off, off offset:300")


def test_flat_addresses_reach_lds(bench: Bench) -> None:
    values, place = bench.get(20, "u4").copy(), places(4) % (SIZE // 2)
    bench.put(10, place.astype(np.uint32))
    bench.run("ds_write_b32 v10, v20")
    bench.put(12, (SHARED_APERTURE + place).astype(np.uint64))
    bench.run("flat_load_dword v21, v[12:13]")
    np.testing.assert_array_equal(bench.get(21, "u4"), values)


@pytest.mark.parametrize(("bits", "step"), [(32, 4), (64, 8), (96, 16), (128, 16)])
def test_lds_words_come_back(bench: Bench, bits: int, step: int) -> None:
    count = bits // 32
    bench.put(10, (np.arange(LANES) * step).astype(np.uint32))
    bench.run(f"ds_write_b{bits} v10, {span(20, count)} offset:64")
    bench.run(f"ds_read_b{bits} {span(40, count)}, v10 offset:64")
    np.testing.assert_array_equal(read(bench, 40, count), read(bench, 20, count))


@pytest.mark.parametrize(("suffix", "scale"), [("", 1), ("st64", 64)])
@pytest.mark.parametrize("words", [1, 2])
def test_lds_pairs_have_two_offsets(bench: Bench, suffix: str, scale: int, words: int) -> None:
    bits, width = 32 * words, 4 * words
    bench.put(10, (np.arange(LANES) * width).astype(np.uint32))
    bench.run(
        f"ds_write2{suffix}_b{bits} v10, {span(20, words)}, {span(24, words)} offset0:1 offset1:9"
    )
    bench.run(f"ds_read_b{bits} {span(40, words)}, v10 offset:{9 * scale * width}")
    np.testing.assert_array_equal(read(bench, 40, words), read(bench, 24, words))
    bench.run(f"ds_read2{suffix}_b{bits} {span(44, 2 * words)}, v10 offset0:9 offset1:9")
    np.testing.assert_array_equal(read(bench, 44 + words, words), read(bench, 24, words))


@pytest.mark.parametrize(("name", "width", "is_signed"), [
    ("u8", 1, False), ("i8", 1, True), ("u16", 2, False), ("i16", 2, True),
])  # fmt: skip
def test_lds_narrow_reads_are_extended(
    bench: Bench,
    name: str,
    width: int,
    is_signed: bool,
) -> None:
    bench.put(10, (np.arange(LANES) * 4).astype(np.uint32))
    bench.run(f"ds_write_b{8 * width} v10, v20")
    bench.run(f"ds_read_{name} v21, v10")
    raw = np.ascontiguousarray(read(bench, 20, 1)[..., :width])
    values = raw.view(f"{'i' if is_signed else 'u'}{width}")[..., 0]
    np.testing.assert_array_equal(bench.get(21, "i4"), values.astype(np.int32))


def test_lds_outside_reads_zero_and_writes_nothing() -> None:
    bench = Bench(lds_bytes=128)
    bench.put(10, (np.arange(LANES) * 4).astype(np.uint32))
    bench.run("ds_write_b32 v10, v20")
    bench.run("ds_read_b32 v21, v10")
    inside = np.arange(LANES) < 32
    np.testing.assert_array_equal(bench.get(21, "u4"), np.where(inside, bench.get(20, "u4"), 0))


def test_workgroups_do_not_share_lds(bench: Bench) -> None:
    bench.put(10, np.uint32(0))
    bench.put(20, np.array([[5], [7]], np.uint32))
    bench.run("ds_write_b32 v10, v20")
    bench.run("ds_read_b32 v21, v10")
    assert list(bench.get(21, "u4")[:, 0]) == [5, 7]


ATOMICS: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "umax": max,
    "umin": min,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "swap": lambda _old, new: new,
    "inc": lambda old, new: 0 if old >= new else old + 1,
    "dec": lambda old, new: new if old == 0 or old > new else old - 1,
}


@pytest.mark.parametrize("name", ATOMICS)
@pytest.mark.parametrize(("suffix", "width"), [("", 4), ("_x2", 8)])
def test_atomics_act_one_after_another_when_lanes_meet(
    bench: Bench, name: str, suffix: str, width: int
) -> None:
    address, view = fill(bench)
    slots = np.arange(WAVES * LANES).reshape(WAVES, LANES) * 7 % 5
    bench.put(10, (address + slots * width).astype(np.uint64))
    words = width // 4
    values = bench.get(20, f"u{width}").copy()
    memory = {slot: int(view[slot * width :][:width].view(f"u{width}")[0]) for slot in range(5)}
    bench.run(
        f"global_atomic_{name}{suffix} {span(30, words)}, v[10:11], {span(20, words)}, off sc0"
    )
    old = bench.get(30, f"u{width}").reshape(-1)
    for place, (slot, value) in enumerate(zip(slots.flat, values.flat, strict=True)):
        assert old[place] == memory[int(slot)]
        memory[int(slot)] = ATOMICS[name](memory[int(slot)], int(value)) % 2 ** (8 * width)
    for key, total in memory.items():
        assert view[key * width :][:width].view(f"u{width}")[0] == total


def test_compare_and_swap_succeeds_once(bench: Bench) -> None:
    address, view = fill(bench)
    view[:4] = 0
    bench.put(10, np.uint64(address))
    bench.put(20, np.arange(1, WAVES * LANES + 1, dtype=np.uint32).reshape(WAVES, LANES))
    bench.put(21, np.uint32(0))
    bench.run("global_atomic_cmpswap v30, v[10:11], v[20:21], off sc0")
    assert view[:4].view(np.uint32)[0] == 1
    assert (bench.get(30, "u4").reshape(-1)[1:] == 1).all()


def test_real_atomics_add_and_compare(bench: Bench) -> None:
    address, view = fill(bench)
    view[:64] = 0
    bench.put(10, np.uint64(address))
    bench.put(20, np.float32(0.5))
    bench.run("global_atomic_add_f32 v[10:11], v20, off")
    assert view[:4].view(np.float32)[0] == 64
    bench.put(22, np.arange(128, dtype=np.float64).reshape(2, 64))
    bench.run("global_atomic_max_f64 v[10:11], v[22:23], off offset:8")
    assert view[8:16].view(np.float64)[0] == 127
    bench.put(24, np.uint32(0x3C00_3800))  # 1.0 and 0.5
    bench.run("global_atomic_pk_add_f16 v[10:11], v24, off offset:16")
    assert list(view[16:20].view(np.float16)) == [64, 128]
    bench.put(24, np.uint32(0x3F80_3F00))
    bench.run("global_atomic_pk_add_bf16 v[10:11], v24, off offset:20")
    halves = view[20:24].view(np.uint16).astype(np.uint32) << np.uint32(16)
    assert list(halves.view(np.float32)) == [64, 128]


def test_lds_atomics_return_old_values(bench: Bench) -> None:
    bench.put(10, np.uint32(16))
    bench.put(11, np.uint32(0))
    bench.run("ds_write_b32 v10, v11")
    bench.put(12, np.uint32(1))
    bench.run("ds_add_rtn_u32 v20, v10, v12")
    np.testing.assert_array_equal(bench.get(20, "u4")[0], np.arange(LANES))
    bench.run("ds_read_b32 v21, v10")
    assert (bench.get(21, "u4") == LANES).all()
    bench.put(13, np.uint32(LANES))
    bench.put(14, np.uint32(99))
    bench.run("ds_cmpst_rtn_b32 v22, v10, v13, v14")
    assert bench.get(22, "u4")[0, 0] == LANES
    assert bench.get(22, "u4")[0, 1] == 99


def test_scalar_loads_fill_registers(bench: Bench) -> None:
    address, view = fill(bench)
    bench.put_scalar(4, address, words=2)
    bench.put_scalar(20, 8)
    for text, words, start in (
        ("s_load_dword s8, s[4:5], 0x10", 1, 16),
        ("s_load_dwordx2 s[8:9], s[4:5], 0x18", 2, 24),
        ("s_load_dwordx4 s[8:11], s[4:5], s20", 4, 8),
        ("s_load_dwordx8 s[8:15], s[4:5], s20 offset:0x20", 8, 40),
        ("s_load_dwordx16 s[24:39], s[4:5], 0x40", 16, 64),
    ):
        bench.run(text)
        target = 24 if words == 16 else 8
        expected = int.from_bytes(view[start : start + 4 * words].tobytes(), "little")
        assert bench.get_scalar(target, words=words) == expected, text


def put_descriptor(bench: Bench, address: int, records: int, stride: int = 0) -> None:
    bench.put_scalar(8, address | stride << 48 | records << 64, words=4)


def test_buffers_are_bounded_by_their_descriptor(bench: Bench) -> None:
    address, view = fill(bench)
    put_descriptor(bench, address, records=100)
    bench.put(10, (np.arange(LANES) * 4).astype(np.uint32))
    bench.put_scalar(20, 64)
    bench.run("buffer_load_dword v20, v10, s[8:11], s20 offen offset:8")
    place = np.arange(LANES) * 4 + 8
    inside = place + 4 <= 100
    words = np.ascontiguousarray(octets(view, np.where(inside, place + 64, 0), 4)).view(np.uint32)
    expected = np.where(inside, words[..., 0], 0)
    np.testing.assert_array_equal(bench.get(20, "u4")[0], expected)
    before = view.copy()
    bench.run("buffer_store_dword v21, v10, s[8:11], 0 offen")
    assert (view[100:] == before[100:]).all()
    assert (view[:100] != before[:100]).any()


def test_buffers_count_records_when_they_have_a_stride(bench: Bench) -> None:
    address, view = fill(bench)
    put_descriptor(bench, address, records=10, stride=24)
    bench.put(10, np.arange(LANES, dtype=np.uint32))
    bench.put(11, np.uint32(4))
    bench.run("buffer_load_dwordx2 v[20:21], v[10:11], s[8:11], 0 idxen offen offset:8")
    index = np.arange(LANES)
    raw = np.ascontiguousarray(octets(view, np.where(index < 10, index * 24 + 12, 0), 8))
    expected = np.where(index < 10, raw.view(np.uint64)[..., 0], 0)
    np.testing.assert_array_equal(bench.get(20, "u8")[0], expected)


def test_loads_go_to_lds_past_the_registers(bench: Bench) -> None:
    address, view = fill(bench)
    place = places(4)
    bench.put(10, (address + place).astype(np.uint64))
    bench.put_scalar(124, 256)
    bench.run("global_load_lds_dword v[10:11], off")
    bench.put(12, (256 + np.arange(LANES) * 4).astype(np.uint32))
    bench.run("ds_read_b32 v20, v12")
    loaded = np.ascontiguousarray(octets(view, place, 4)).view(np.uint32)[..., 0]
    np.testing.assert_array_equal(bench.get(20, "u4"), loaded)
