"""Digests. The expected hashes come from the PyPI package ``kernels`` 0.17.2."""

from __future__ import annotations

import pytest

from kernelmill.spec.digest import Digest, compare, digest_files, is_covered

FILES = (
    ("upper.PYC", b"P"),
    ("__init__.py", b"hello\n"),
    ("empty.txt", b""),
    ("sub/metadata.json", b"x"),
    ("b.pyo", b"o"),
    ("sub2/ünï.py", "é".encode()),
    (".hidden", b"q"),
    ("metadata.json", b"m"),
    ("metadata.json.sigstore", b"s"),
    ("metadata.json.sig", b"ours, which no digest covers either"),
    ("a.pyc", b"c"),
    ("sub/__pycache__/z.cpython-311.pyc", b"c"),
    ("__pycache__/data.txt", b"d"),
)


def test_digest_matches_upstream_when_sha256() -> None:
    assert digest_files(FILES) == Digest(
        algorithm="sha256",
        files={
            ".hidden": "jjXCzTv2ZBvbDiBQt2kyy7LmA0oN2swdm+qCprpX988=",
            "__init__.py": "WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=",
            "b.pyo": "ZcdMFaaGGHu2u/mVj0lPxrgAaANKZZqa1EmRsIxY8tI=",
            "empty.txt": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "sub/metadata.json": "LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=",
            "sub2/ünï.py": "SplVfkAzw1Od4utlRyAXytX5VX96BiWgnxw/biumnEw=",
            "upper.PYC": "XGLgkbjAVl8br60NrVk0J2FDrizO96U4HoraWxqNJtI=",
        },
    )


def test_digest_matches_upstream_when_sha512() -> None:
    digest = digest_files([("__init__.py", b"hello\n")], algorithm="sha512")
    assert digest.files["__init__.py"] == (
        "58IrmUxZ2c8rSOVJseJGZmNgRZMNPafBrLKZ0cO3+TH5Sq5B7dosKyB6NuEPi8uNRSI+VIePWzFufOO2vAGWKQ=="
    )


def test_digest_lists_files_by_path() -> None:
    assert list(digest_files(FILES).files) == sorted(digest_files(reversed(FILES)).files)


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("__init__.py", True),
        ("metadata.json", False),
        ("metadata.json.sigstore", False),
        ("metadata.json.sig", False),
        ("data/metadata.json.sig", True),
        ("data/metadata.json", True),
        ("a.pyc", False),
        ("x/__pycache__/y.so", False),
        ("my__pycache__/y.so", True),
        (".pyc", True),
    ],
)
def test_file_is_covered_unless_it_cannot_be(path: str, covered: bool) -> None:
    assert is_covered(path) is covered


def test_compare_finds_nothing_when_equal() -> None:
    assert compare(digest_files(FILES), digest_files(reversed(FILES))) == ()


def test_compare_reports_every_violation_in_upstreams_words() -> None:
    expected = Digest(algorithm="sha512", files={"b": "1", "a": "2", "same": "3"})
    actual = Digest(algorithm="sha256", files={"zz": "9", "b": "x", "same": "3", "new": "8"})
    assert [str(it) for it in compare(expected, actual)] == [
        "Algorithm mismatch: expected: SHA512, got: SHA256",
        "Missing file: a",
        "File hash mismatch for b: expected: 1, got: x",
        "Unknown file: new",
        "Unknown file: zz",
    ]
