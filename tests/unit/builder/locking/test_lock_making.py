from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.builder.locking.records import STORE, record

from kernelmill.builder.locking.checking import check_lock
from kernelmill.builder.locking.format import Lock
from kernelmill.builder.locking.making import make_lock
from kernelmill.builder.locking.needs import needs_of
from kernelmill.builder.sdk.format import SdkInput
from kernelmill.builder.sdk.pins import known_inputs
from kernelmill.spec.variant import parse_variant

OLD = parse_variant("torch212-cxx11-cpu-x86_64-linux")
NEW = parse_variant("torch213-cxx11-cpu-x86_64-linux")
ROCM = parse_variant("torch213-cxx11-rocm71-x86_64-linux")


@pytest.mark.parametrize(
    ("variant", "names"),
    [
        pytest.param("torch-cpu", ["cxx-12.2.0", "tools-1"], id="python-only"),
        pytest.param(
            "torch212-cxx11-cpu-x86_64-linux",
            ["cxx-12.2.0", "tools-1", "abi-stubs-2.28", "torch-2.12.0"],
            id="cpu",
        ),
        pytest.param(
            "torch-stable-abi29-cpu-x86_64-linux",
            ["cxx-12.2.0", "tools-1", "abi-stubs-2.28", "torch-2.11.0"],
            id="stable-takes-the-oldest-that-there-is",
        ),
        pytest.param(
            "torch213-cxx11-rocm71-x86_64-linux",
            ["cxx-12.2.0", "tools-1", "abi-stubs-2.28", "torch-2.13.0", "zig-0.17.1"],
            id="rocm",
        ),
    ],
)
def test_needs_are_the_same_on_every_machine(variant: str, names: list[str]) -> None:
    assert [it.name for it in needs_of(parse_variant(variant))] == names


def test_cuda_needs_a_torch_for_its_major_version() -> None:
    (torch,) = (
        it
        for it in needs_of(parse_variant("torch212-cxx11-cu126-x86_64-linux"))
        if it.kind == "torch"
    )
    assert not torch.is_met_by(record("torch", "2.12.0+cu130", cuda="13.0"))
    assert torch.is_met_by(record("torch", "2.12.0+cu126", cuda="12.6"))


def test_lock_names_what_each_variant_needs_and_says_what_is_missing() -> None:
    made = make_lock([OLD, NEW, ROCM], STORE, Lock())
    assert made.lock.variants == {
        str(OLD): ("abi-stubs-2.28", "cxx-12.2.0", "tools-1", "torch-2.12.0+cu130"),
        str(NEW): ("abi-stubs-2.28", "cxx-12.2.0", "tools-1", "torch-2.13.0+cpu"),
    }
    assert {*made.lock.sdks} == {it.name for it in STORE}
    assert {name: [it.name for it in needs] for name, needs in made.missing.items()} == {
        str(ROCM): ["zig-0.17.1"]
    }


def test_what_is_locked_stays_until_it_is_updated() -> None:
    old = make_lock([OLD, NEW], STORE, Lock()).lock
    changed = [
        replace(it, nar_sha256="2" * 64) if it.kind in {"cxx", "torch"} else it for it in STORE
    ]
    assert make_lock([OLD, NEW], changed, old).lock == old
    assert make_lock([OLD, NEW], (), old).lock == old
    updated = make_lock([OLD, NEW], changed, old, updated=["torch-2.13.0+cpu", "cxx"]).lock
    assert {name: it.nar_sha256[0] for name, it in updated.sdks.items()} == {
        "abi-stubs-2.28": "1",
        "cxx-12.2.0": "2",
        "tools-1": "1",
        "torch-2.12.0+cu130": "1",
        "torch-2.13.0+cpu": "2",
    }


def test_unused_entries_leave_the_lock() -> None:
    old = make_lock([OLD, NEW], STORE, Lock()).lock
    assert "torch-2.12.0+cu130" not in make_lock([NEW], STORE, old).lock.sdks


def test_sdk_of_known_files_comes_before_a_newer_flavour() -> None:
    (known,) = known_inputs()["torch"]["2.13.0"]
    ours = replace(record("torch", "2.13.0+cpu"), inputs=(known,))
    store = [*STORE[:-1], ours, record("torch", "2.13.0+cu130", cuda="13.0")]
    assert "torch-2.13.0+cpu" in make_lock([NEW], store, Lock()).lock.sdks


def test_check_finds_nothing_in_a_fresh_lock() -> None:
    lock = make_lock([OLD, NEW], STORE, Lock()).lock
    assert check_lock(lock, [OLD, NEW, ROCM], ()) == ()
    assert check_lock(lock, [OLD, NEW, ROCM], STORE) == ()


def test_check_says_what_is_old() -> None:
    lock = make_lock([OLD, NEW], STORE, Lock()).lock
    stale = Lock(
        sdks={**lock.sdks, "zig-0.17.1": record("zig", "0.17.1")},
        variants={**lock.variants, str(NEW): ("abi-stubs-2.28", "cxx-12.2.0", "tools-1")},
    )
    assert check_lock(stale, [NEW], [record("cxx", "12.2.0", nar="3")]) == (
        f"{OLD} is locked, and is no variant of this kernel any more",
        f"{NEW} needs torch-2.13.0, and is locked to abi-stubs-2.28, cxx-12.2.0, tools-1",
        "torch-2.13.0+cpu is locked, and no variant uses it",
        "zig-0.17.1 is locked, and no variant uses it",
        "cxx-12.2.0 is locked with NAR sha256 111111111111, the one here has 333333333333",
    )


def test_check_knows_the_published_files() -> None:
    (known,) = known_inputs()["torch"]["2.13.0"]
    other = SdkInput(name="torch", version="2.13.0", file=known.file, sha256="b" * 64)
    lock = make_lock([NEW], STORE, Lock()).lock
    sdks = {**lock.sdks, "torch-2.13.0+cpu": replace(STORE[-1], inputs=(other,))}
    (finding,) = check_lock(replace(lock, sdks=sdks), [NEW], ())
    assert finding == (
        f"torch-2.13.0+cpu: {known.file} is bbbbbbbbbbbb, known as {known.sha256[:12]}"
    )
