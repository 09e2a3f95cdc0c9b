from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.binary import bundle
from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.errors import BinaryError

if TYPE_CHECKING:
    from tests.unit.binary.conftest import LibraryWriter


def test_kernels_are_read_when_data_is_a_code_object(code_object: bytes) -> None:
    (found,) = read_code_objects(code_object)
    assert (found.target, found.arch, found.version) == ("gfx942", "gfx942", 5)
    tile, scratch = found.kernels
    assert (tile.name, tile.symbol) == ("fp8_tile", "fp8_tile.kd")
    assert (tile.vgpr_count, tile.agpr_count, tile.sgpr_count) == (10, 0, 16)
    assert (tile.lds_bytes, tile.private_bytes) == (256 * 8, 0)
    assert (tile.vgpr_spills, tile.sgpr_spills) == (0, 0)
    assert (tile.max_workgroup_size, tile.wavefront_size) == (256, 64)
    assert scratch.private_bytes >= 32 * 4
    assert scratch.max_workgroup_size == 64


def test_arguments_are_read_when_some_are_hidden(code_object: bytes) -> None:
    tile = read_code_objects(code_object)[0].kernels[0]
    assert [(arg.offset, arg.size_bytes, arg.value_kind) for arg in tile.args[:4]] == [
        (0, 8, "global_buffer"),
        (8, 8, "global_buffer"),
        (16, 8, "global_buffer"),
        (24, 4, "hidden_block_count_x"),
    ]
    assert tile.kernarg_bytes >= 24 + 256


def test_descriptor_leads_to_the_code_when_symbols_agree(code_object: bytes) -> None:
    found = read_code_objects(code_object)[0]
    tile = found.kernels[0]
    assert tile.descriptor.entry_address == tile.code_address
    assert tile.descriptor.rsrc2 >> 1 & 0x1F == 2  # user SGPRs: the pointer to the arguments
    assert len(found.code(tile)) == tile.code_size > 0


def test_code_objects_are_read_when_data_is_a_bundle(code_object: bytes) -> None:
    host = bundle.Entry(id="host-x86_64-unknown-linux--", data=b"")
    device = bundle.Entry(id=bundle.device_id("gfx942"), data=code_object)
    found = read_code_objects(bundle.build([host, device, device]))
    assert [code.target for code in found] == ["gfx942", "gfx942"]


def test_nothing_is_found_when_library_has_no_device_code(
    write_library: LibraryWriter,
) -> None:
    assert read_code_objects(write_library()) == ()


def test_reading_names_the_entry_when_its_code_is_damaged(code_object: bytes) -> None:
    damaged = bundle.Entry(id=bundle.device_id("gfx942"), data=code_object[:700])
    with pytest.raises(BinaryError) as caught:
        read_code_objects(bundle.build([damaged]), where="k.so")
    assert str(caught.value).startswith("k.so [gfx942]: the first section header is outside")


def test_reading_refuses_when_code_object_is_too_old(code_object: bytes) -> None:
    data = bytearray(code_object)
    data[8] = 1
    with pytest.raises(BinaryError, match="code object version 3 is older than 4"):
        read_code_objects(bytes(data))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(b"amdhsa.target", b"amdhsa.tarGet", "amdhsa.target is missing", id="target"),
        pytest.param(b"amdhsa--gfx942", b"amdhsa-_gfx942", "the target is", id="triple"),
        pytest.param(b".vgpr_count", b".vGpr_count", ".vgpr_count is missing", id="count"),
        pytest.param(b".kernels", b".kernelS", "amdhsa.kernels is missing", id="kernels"),
        pytest.param(b"AMDGPU\0", b"AMDGPV\0", "without a metadata note", id="owner"),
    ],
)
def test_reading_refuses_when_metadata_lacks_something(
    code_object: bytes, old: bytes, new: bytes, message: str
) -> None:
    assert old in code_object
    with pytest.raises(BinaryError, match=message):
        read_code_objects(code_object.replace(old, new))


def test_reading_refuses_when_a_kernel_has_no_descriptor(code_object: bytes) -> None:
    data = code_object.replace(b"\0scratch.kd\0", b"\0scratch.xx\0")
    with pytest.raises(BinaryError, match=r"kernel 'scratch' has no symbol 'scratch\.kd'"):
        read_code_objects(data)
