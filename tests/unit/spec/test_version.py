"""Lenient versions."""

from __future__ import annotations

import pytest

from kernelmill.spec.errors import InvalidVersion
from kernelmill.spec.version import parse_major_minor, parse_release


@pytest.mark.parametrize(
    ("text", "series", "is_prerelease", "local"),
    [
        ("2.7", (2, 7), False, ""),
        ("2.9.1+cpu", (2, 9), False, "cpu"),
        ("2.10.0+rocm7.2", (2, 10), False, "rocm7.2"),
        ("2.6.0+rocm6.4.0.git2fb0ac2b", (2, 6), False, "rocm6.4.0.git2fb0ac2b"),
        ("2.13.0.dev20260701+cu130", (2, 13), True, "cu130"),
        ("2.8.0a0+git6c0e746", (2, 8), True, "git6c0e746"),
        ("2.12.0a0+rocm7.12.0a20260304", (2, 12), True, "rocm7.12.0a20260304"),
        ("2.14.0rc1", (2, 14), True, ""),
        ("2.0.0.nv23.05", (2, 0), False, ""),
        ("2.9.0a0.nv25.05", (2, 9), True, ""),
        ("7.1.52802-26aae437b6", (7, 1), False, ""),
        ("v12.8", (12, 8), False, ""),
        (" 2.7.1 ", (2, 7), False, ""),
        ("2.7." + "9" * 5000, (2, 7), False, ""),
    ],
)
def test_release_is_read_when_it_begins_with_two_numbers(
    text: str, series: tuple[int, int], is_prerelease: bool, local: str
) -> None:
    # V4, V5
    release = parse_release(text, what="PyTorch")
    assert release.series == series
    assert release.is_prerelease is is_prerelease
    assert release.local == local
    assert str(release) == text


def test_release_is_read_when_given_a_subclass_of_str() -> None:
    # V5
    class TorchVersion(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = str.__hash__

    release = parse_release(TorchVersion("2.13.0+cpu"), what="PyTorch")
    assert release.series == (2, 13)
    assert type(release.text) is str


@pytest.mark.parametrize("text", ["", "2", "main", "nightly-2.7", "2.", ".7", "2.x", "²·³"])
def test_release_is_refused_when_it_begins_otherwise(text: str) -> None:
    # V5
    with pytest.raises(InvalidVersion) as caught:
        parse_release(text, what="PyTorch")
    assert caught.value.problem == f"cannot read PyTorch version {text!r}"


def test_major_minor_is_read_when_exact() -> None:
    assert parse_major_minor("2.13", where="x") == (2, 13)
    assert parse_major_minor("13.0", where="x") == (13, 0)


@pytest.mark.parametrize("text", ["2", "2.13.0", "2.1a", "02.1", "2.01", "", "2.13\n", " 2.13"])
def test_major_minor_is_refused_when_not_two_numbers(text: str) -> None:
    with pytest.raises(InvalidVersion) as caught:
        parse_major_minor(text, where="build.toml:9 torch.minver")
    assert str(caught.value) == (
        f"build.toml:9 torch.minver: {text!r} is not a version\n"
        '  hint: write two numbers, such as "2.13"'
    )
