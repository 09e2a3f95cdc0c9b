from __future__ import annotations

import pytest

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.recipes.glibc import read_glibc
from kernelmill.builder.sdk.stub import FUNCTION, OBJECT, TLS, StubSymbol

TARGET = "x86_64-linux-gnu"


def listing(*, functions: bytes = b"\0\0", objects: bytes = b"\0\0", tls: bytes = b"\0\0") -> bytes:
    """Return a list of two libraries, three versions and two targets."""
    head = b"\x02c\0m\0\x03\x02\x02\x05\x02\x1c\x00\x02\x22\x00"
    return head + b"\x02arm-linux\0" + TARGET.encode() + b"\0" + functions + objects + tls


def test_symbols_are_there_once_for_each_version_that_is_old_enough() -> None:
    # memcpy: for both targets, in c (the last inclusion), since 2.2.5, 2.28 and 2.34.
    functions = b"\x01\0memcpy\0\x03\x80\x00\x01\x82"
    found = read_glibc(listing(functions=functions), target=TARGET, newest=(2, 28))
    assert found["c"] == (
        StubSymbol("memcpy", "GLIBC_2.2.5", FUNCTION, is_default=False),
        StubSymbol("memcpy", "GLIBC_2.28", FUNCTION, is_default=True),
    )
    assert found["m"] == ()


def test_symbols_of_other_targets_and_of_later_releases_are_left_out() -> None:
    # sin: for arm only, in m; stat: for us, in c, since 2.34.
    functions = b"\x02\0sin\0\x01\x81\x80stat\0\x02\x80\x82"
    found = read_glibc(listing(functions=functions), target=TARGET, newest=(2, 28))
    assert found == {"c": (), "m": ()}


def test_name_may_be_in_several_libraries() -> None:
    functions = b"\x02\0fork\0\x02\x00\x80\x02\x81\x81"
    found = read_glibc(listing(functions=functions), target=TARGET, newest=(2, 28))
    assert found["c"] == (StubSymbol("fork", "GLIBC_2.2.5"),)
    assert found["m"] == (StubSymbol("fork", "GLIBC_2.28"),)


def test_objects_have_sizes() -> None:
    objects = b"\x01\0environ\0\x02\x88\x01\x80\x80"
    tls = b"\x01\0errno\0\x02\x04\x80\x80"
    found = read_glibc(listing(objects=objects, tls=tls), target=TARGET, newest=(2, 28))
    assert found["c"] == (
        StubSymbol("environ", "GLIBC_2.2.5", OBJECT, size=136),
        StubSymbol("errno", "GLIBC_2.2.5", TLS, size=4),
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(listing()[:-1], "index out of range", id="cut"),
        pytest.param(listing() + b"more", "4 bytes are left over", id="longer"),
        pytest.param(listing().replace(b"x86_64", b"mips64"), "not in list", id="no-target"),
        pytest.param(b"", "index out of range", id="empty"),
    ],
)
def test_other_formats_are_refused(content: bytes, text: str) -> None:
    with pytest.raises(SdkError, match="has another format than ours") as caught:
        read_glibc(content, target=TARGET, newest=(2, 28))
    assert text in caught.value.problem
    assert caught.value.hint == "use the version of ziglang that data/sdks.toml names"
