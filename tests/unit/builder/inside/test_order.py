from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import toolchain, write_kernel
from tests.unit.builder.locking.records import STORE

from kernelmill.builder.backends import rules_for
from kernelmill.builder.errors import SdkError
from kernelmill.builder.inside import order as order_format
from kernelmill.builder.inside.order import Order
from kernelmill.builder.inside.statement import file_hashes, provenance
from kernelmill.builder.package import Origin, finish_metadata, read_metadata, write_metadata
from kernelmill.builder.plan import plan_build
from kernelmill.builder.sources import read_tree
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import MetadataError
from kernelmill.spec.metadata import SourceState

if TYPE_CHECKING:
    from pathlib import Path

ORDER = Order(
    variant="torch213-cxx11-cpu-x86_64-linux",
    sdks=STORE[:2],
    lock_sha256="c" * 64,
    source=SourceState(commit="d" * 40, is_dirty=True),
)


@pytest.mark.parametrize(
    "order", [ORDER, replace(ORDER, source=None, isolation="none")], ids=["git", "bare"]
)
def test_order_is_read_as_it_was_written(order: Order) -> None:
    assert order_format.parse(order_format.dumps(order), where="job.json") == order


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("", "Expecting value", id="empty"),
        pytest.param('{"version": 2}', "version 2", id="newer"),
        pytest.param('{"version": 1}', "variant", id="key"),
        pytest.param("[]", "list indices", id="array"),
    ],
)
def test_other_orders_are_refused(content: str, text: str) -> None:
    with pytest.raises(SdkError, match="not a job that this version can follow") as caught:
        order_format.parse(content, where="job.json")
    assert text in caught.value.problem


@pytest.fixture
def variant(tmp_path: Path) -> Path:
    plan = plan_build(read_tree(write_kernel(tmp_path)), toolchain(), rules_for(Backend.CPU))
    folder = tmp_path / "build" / ORDER.variant
    folder.mkdir(parents=True)
    (folder / "x.abi3.so").write_bytes(b"code")
    origin = Origin(mode="release", isolation="sandbox", inputs={"build.lock": "c" * 64})
    inputs = {"cxx-12.2.0": "1" * 64, "build.toml": "f" * 64}
    write_metadata(
        folder,
        finish_metadata(
            plan, folder, source=ORDER.source, compilers={}, inputs=inputs, origin=origin
        ),
    )
    return folder


def test_metadata_of_a_release_build_says_so(variant: Path) -> None:
    build = read_metadata(variant).build
    assert build is not None
    assert (build.mode, build.isolation) == ("release", "sandbox")
    assert {*build.inputs} == {"build.lock", "build.toml", "cxx-12.2.0"}
    (variant / "metadata.json").unlink()
    with pytest.raises(MetadataError, match="cannot be read: No such file"):
        read_metadata(variant)


def test_statement_says_what_was_made_of_what(variant: Path) -> None:
    document = json.loads(provenance(ORDER, variant, key="9" * 64))
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "https://slsa.dev/provenance/v1"
    hashes = file_hashes(variant)
    assert {it["name"]: it["digest"]["sha256"] for it in document["subject"]} == {
        f"{ORDER.variant}/{path}": sha256 for path, sha256 in hashes.items()
    }
    assert "metadata.json" in hashes
    definition = document["predicate"]["buildDefinition"]
    assert definition["externalParameters"] == {"variant": ORDER.variant, "kernel": "my-relu"}
    assert definition["internalParameters"] == {"isolation": "sandbox", "key": "9" * 64}
    assert definition["resolvedDependencies"] == [
        {"name": "source", "digest": {"gitCommit": "d" * 40}, "annotations": {"dirty": True}},
        {"name": "build.lock", "digest": {"sha256": "c" * 64}},
        {"name": "build.toml", "digest": {"sha256": "f" * 64}},
        {"name": "cxx-12.2.0", "digest": {"narHash": "1" * 64}},
    ]
    assert provenance(ORDER, variant, key="9" * 64) == provenance(ORDER, variant, key="9" * 64)
