from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.locking.records import STORE, record

from kernelmill.builder.locking import expected
from kernelmill.builder.locking import format as lock_format
from kernelmill.builder.locking.errors import BuildLockError
from kernelmill.builder.locking.files import read_lock, write_lock
from kernelmill.builder.locking.format import Lock

if TYPE_CHECKING:
    from pathlib import Path

CPU = "torch213-cxx11-cpu-x86_64-linux"
LOCK = Lock(
    sdks={it.name: it for it in STORE if it.version != "2.12.0+cu130"},
    variants={CPU: ("abi-stubs-2.28", "cxx-12.2.0", "tools-1", "torch-2.13.0+cpu")},
)


def test_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert write_lock(tmp_path, LOCK)
    assert not write_lock(tmp_path, LOCK)
    lock, sha256 = read_lock(tmp_path)
    assert lock == LOCK
    assert len(sha256) == 64
    assert [it.name for it in lock.sdks_of(CPU)] == list(LOCK.variants[CPU])


def test_lock_has_no_addresses_and_no_places() -> None:
    text = lock_format.dumps(LOCK)
    assert "://" not in text
    assert '": "/' not in text
    assert text.endswith("}\n")
    assert {*json.loads(text)["sdks"]["cxx-12.2.0"]["inputs"][0]} == {
        "name",
        "version",
        "file",
        "sha256",
    }


def test_variant_that_is_not_locked_says_how_to_lock_it() -> None:
    with pytest.raises(BuildLockError) as caught:
        LOCK.sdks_of("torch212-cxx11-cpu-x86_64-linux")
    assert str(caught.value) == (
        "build.lock: torch212-cxx11-cpu-x86_64-linux is not locked\n"
        "  hint: kernel-builder lock --variant torch212-cxx11-cpu-x86_64-linux"
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param("{", "not valid JSON", id="json"),
        pytest.param("[]", "not a lock of version 1", id="array"),
        pytest.param('{"version": 2}', "not a lock of version 1", id="version"),
        pytest.param('{"version": 1, "variants": {}}', "sdks", id="key"),
        pytest.param(
            '{"version": 1, "sdks": {}, "variants": {"v": ["cxx-1"]}}',
            "'cxx-1' is not described",
            id="unknown-sdk",
        ),
        pytest.param(
            '{"version": 1, "sdks": {"cxx-1": {}}, "variants": {}}',
            "not an SDK's description of version 1",
            id="sdk",
        ),
    ],
)
def test_damaged_lock_is_refused(content: str, problem: str) -> None:
    with pytest.raises(BuildLockError) as caught:
        lock_format.parse(content, where="build.lock")
    assert problem in str(caught.value)
    assert "kernel-builder lock" in caught.value.hint


def test_kernel_without_a_lock_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(BuildLockError) as caught:
        read_lock(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: no build.lock here\n  hint: write one with `kernel-builder lock`"
    )


def test_expected_hashes_are_read_as_they_were_written() -> None:
    hashes = {"v2": {"b.so": "b" * 64}, "v1": {"p/__init__.py": "a" * 64, "a.so": "c" * 64}}
    text = expected.dumps(hashes)
    assert text.splitlines()[0] == f"{'c' * 64}  v1/a.so"
    assert expected.parse(text, where="build.sha256") == hashes
    with pytest.raises(BuildLockError, match="is not a line of sha256sum") as caught:
        expected.parse(text + "x y\n", where="build.sha256")
    assert caught.value.where == "build.sha256:4"


def test_expected_hashes_say_what_differs() -> None:
    old = expected.covered({"a.so": "a" * 64, "metadata.json": "b" * 64})
    assert old == {"a.so": "a" * 64}
    assert expected.compare(old, old) == ()
    assert expected.compare(old, {"b.so": "a" * 64}) == (
        f"a.so is not there, want {'a' * 16}",
        f"b.so is {'a' * 16}, want not there",
    )


def test_record_of_tests_is_one(tmp_path: Path) -> None:
    assert record("cxx", "12.2.0").name == "cxx-12.2.0"
