from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.binary import bundle
from kernelmill.binary.bundle import Entry
from kernelmill.binary.errors import BinaryError

HOST = Entry(id="host-x86_64-unknown-linux--", data=b"")
ENTRIES = st.lists(
    st.builds(
        Entry,
        id=st.sampled_from(["gfx942", "gfx90a:xnack-", "gfx9-4-generic"]).map(bundle.device_id),
        data=st.binary(max_size=64),
    ),
    max_size=4,
).map(tuple)


@given(ENTRIES, st.sampled_from([1, 8, 4096]))
def test_parse_inverts_build_when_entries_are_any(
    entries: tuple[Entry, ...], alignment: int
) -> None:
    assert bundle.parse(bundle.build(entries, alignment=alignment)) == entries


def test_build_aligns_code_when_there_are_several_entries() -> None:
    data = bundle.build([HOST, *(Entry(id=bundle.device_id("gfx942"), data=b"\x7fELF"),) * 2])
    assert [data.index(b"\x7fELF"), data.rindex(b"\x7fELF")] == [4096, 8192]


def test_section_is_read_whole_when_several_units_were_linked() -> None:
    first = bundle.build([HOST, Entry(id=bundle.device_id("gfx942"), data=b"one")])
    second = bundle.build([HOST, Entry(id=bundle.device_id("gfx942"), data=b"two")])
    padding = bytes(-len(first) % 4096)
    entries = bundle.parse_section(first + padding + second + bytes(100))
    assert [entry.data for entry in entries if entry.target] == [b"one", b"two"]


@pytest.mark.parametrize(
    ("identity", "target"),
    [
        ("hipv4-amdgcn-amd-amdhsa--gfx942", "gfx942"),
        ("hip-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        ("hipv4-amdgcn-amd-amdhsa-unknown-gfx942", "gfx942"),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic"),
        ("host-x86_64-unknown-linux--", ""),
    ],
)
def test_target_is_the_end_of_the_id_when_entry_is_for_a_gpu(identity: str, target: str) -> None:
    assert Entry(id=identity, data=b"").target == target


def test_parse_says_so_when_bundle_is_compressed() -> None:
    with pytest.raises(BinaryError) as caught:
        bundle.parse_section(b"CCOB\x03\x00\x01\x00", where="k.so .hip_fatbin")
    assert str(caught.value) == (
        "k.so .hip_fatbin +0x0: a compressed offload bundle (CCOB), which is not read\n"
        "  hint: build with -no-offload-compress"
    )


@pytest.mark.parametrize("kept", [0, 10, 30, 60, 4096])
def test_parse_refuses_when_bundle_is_cut(kept: int) -> None:
    data = bundle.build([HOST, Entry(id=bundle.device_id("gfx942"), data=b"code")])
    with pytest.raises(BinaryError, match=r"outside the file|not an offload bundle"):
        bundle.parse(data[:kept])
