from __future__ import annotations

import pytest

from kernelmill.binary import elf
from kernelmill.binary.symbols import read_exports, read_linkage
from kernelmill.builder.sdk.stub import (
    AARCH64,
    FUNCTION,
    OBJECT,
    TLS,
    X86_64,
    StubSymbol,
    elf_hash,
    write_stub,
)

SYMBOLS = (
    StubSymbol("run", "FOO_2"),
    StubSymbol("run", "FOO_1", is_default=False),
    StubSymbol("plain"),
    StubSymbol("table", kind=OBJECT, size=24, is_weak=True),
    StubSymbol("per_thread", "FOO_1", kind=TLS, size=4),
)


def test_stub_offers_what_it_was_given() -> None:
    library = elf.parse(write_stub("libfoo.so.1", SYMBOLS))
    assert read_linkage(library).soname == "libfoo.so.1"
    assert read_linkage(library).needed == ()
    found = {
        StubSymbol(it.name, it.version, it.kind, it.is_weak, it.size, it.is_default)
        for it in read_exports(library)
    }
    assert found == set(SYMBOLS)


def test_stub_is_the_same_in_any_order_of_its_symbols() -> None:
    assert write_stub("x.so", SYMBOLS) == write_stub("x.so", reversed(SYMBOLS))


def test_stub_has_no_two_symbols_at_one_address() -> None:
    library = elf.parse(write_stub("x.so", [StubSymbol(f"f{n}") for n in range(50)]))
    addresses = [it.address for it in library.symbols() if it.name]
    assert len(set(addresses)) == 50


def test_stub_without_versions_has_no_version_tables() -> None:
    library = elf.parse(write_stub("x.so", [StubSymbol("f")]))
    assert library.section(".gnu.version") is None
    assert library.section(".gnu.version_d") is None


@pytest.mark.parametrize("machine", [X86_64, AARCH64])
def test_stub_is_for_its_machine(machine: int) -> None:
    assert elf.parse(write_stub("x.so", [], machine=machine)).machine == machine


def test_indirect_functions_become_functions_and_the_untyped_become_objects() -> None:
    library = elf.parse(write_stub("x.so", [StubSymbol("a", kind=10), StubSymbol("b", kind=0)]))
    assert {it.name: it.kind for it in read_exports(library)} == {"a": FUNCTION, "b": OBJECT}


def test_hash_is_that_of_the_abi() -> None:
    # From libc.so.6's own table of versions.
    assert elf_hash("GLIBC_2.2.5") == 0x09691A75
    assert elf_hash("") == 0
