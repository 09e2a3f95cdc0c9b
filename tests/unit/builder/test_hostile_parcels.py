"""Workers that lie, or have other sources of the same version; and modules beside the kernel."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.builder.fakes import toolchain, write_kernel

from kernelmill.builder.errors import CheckError, SdkError
from kernelmill.builder.job import Job, Outcome, Result
from kernelmill.builder.package import finish_metadata, write_metadata
from kernelmill.builder.pipeline import plan_goal
from kernelmill.builder.request import Goal
from kernelmill.builder.runners import WorkerDied
from kernelmill.builder.runners.arrival import read_metadata
from kernelmill.builder.runners.child import Child, Order
from kernelmill.builder.runners.parcel import (
    File,
    PackedSdk,
    install_sdk,
    pack_folder,
    write_files,
)
from kernelmill.builder.sdk import format as sdk_format
from kernelmill.builder.sdk.format import SdkRecord
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.sources import KernelTree, read_tree
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import HostError, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.spec.variant import ArchVariant

CPU = Goal(backend=Backend.CPU)


@pytest.fixture
def tree(tmp_path: Path) -> KernelTree:
    return read_tree(write_kernel(tmp_path / "kernel"))


@pytest.fixture
def variant(tree: KernelTree) -> ArchVariant:
    return plan_goal(CPU, tree, toolchain()).variant


@pytest.fixture
def files(tree: KernelTree, tmp_path: Path) -> tuple[File, ...]:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    plan = plan_goal(CPU, tree, toolchain())
    write_metadata(folder, finish_metadata(plan, folder, source=None, compilers={}, inputs={}))
    return pack_folder(folder)


@pytest.mark.parametrize(
    "path", ["__pycache__/__init__.cpython-311.pyc", "os.pyc", "metadata.json.sig"]
)
def test_file_that_no_digest_covers_is_not_taken_in(
    path: str, files: tuple[File, ...], tree: KernelTree, variant: ArchVariant
) -> None:
    with pytest.raises(CheckError, match=f"holds '{path}', which no digest covers"):
        read_metadata((*files, File(path, b"evil")), tree, variant)


def test_file_that_is_sent_twice_is_not_taken_in(
    files: tuple[File, ...], tree: KernelTree, variant: ArchVariant
) -> None:
    with pytest.raises(CheckError, match=r"holds '__init__\.py', which"):
        read_metadata((File("__init__.py", b"evil"), *files), tree, variant)


@pytest.mark.parametrize("path", ["a\0b", "\udcff\ud800"])
def test_name_that_no_file_can_have_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="is no file's name"):
        write_files([File(path, b"")], tmp_path / "in")


@pytest.mark.parametrize("paths", [("a", "a/b"), ("a/b", "a")])
def test_file_that_is_a_folder_too_is_refused(paths: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="is a file and a folder"):
        write_files([File(it, b"") for it in paths], tmp_path / "in")


def test_file_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"cannot write 'x+': File name too long"):
        write_files([File("x" * 300, b"")], tmp_path / "in")


@pytest.mark.parametrize("archive", [b"", b"no tar", b"x" * 2000])
def test_sdk_that_is_no_archive_is_damaged(archive: bytes, tmp_path: Path) -> None:
    record = SdkRecord(
        kind="torch", version="2.12.0", platform="x86_64-linux", inputs=(), nar_sha256="0" * 64
    )
    packed = PackedSdk(record=sdk_format.dumps(record), archive=archive)
    with pytest.raises(SdkError, match=r"the SDK torch-2\.12\.0 arrived damaged"):
        install_sdk(packed, Store(tmp_path))
    assert list(tmp_path.iterdir()) == []


# The waiting side of a cluster


def settle(tree: KernelTree, result: object, goal: Goal = CPU) -> Outcome:
    dask = pytest.importorskip("kernelmill.builder.runners.dask")
    cluster: Any = object.__new__(dask.Cluster)
    cluster._site = SimpleNamespace(tree=tree, plan=lambda _: None)
    future: Future[object] = Future()
    future.set_result(result)
    job = Job(root=tree.root, goal=goal, env={}, python=sys.executable)
    outcome = cluster.settle(job, future)
    assert isinstance(outcome, Outcome)
    return outcome


def deliver(outcome: Outcome, **changes: object) -> object:
    remote = pytest.importorskip("kernelmill.builder.runners.remote")
    return replace(remote.Delivery(outcome=outcome, root="/far/away"), **changes)


@pytest.mark.parametrize("result", [None, "text", {"outcome": 1}])
def test_answer_that_is_no_delivery_fails_that_variant_alone(
    result: object, tree: KernelTree
) -> None:
    outcome = settle(tree, result)
    assert outcome.result == "failed"
    assert "which is no variant" in str(outcome.error)


@pytest.mark.parametrize("name", ["", "../../etc", "nonsense", "torch-universal"])
def test_variant_that_is_none_fails_that_variant_alone(name: str, tree: KernelTree) -> None:
    outcome = settle(tree, deliver(Outcome(result="built", variant=name), log=b"x"))
    assert (outcome.result, outcome.variant) == ("failed", "cpu")
    assert outcome.error is not None
    assert not (tree.root / ".kernelmill").exists()


@pytest.mark.parametrize("result", ["built", "failed"])
def test_variant_for_another_backend_is_not_taken_in(result: Result, tree: KernelTree) -> None:
    other = "torch213-cxx11-rocm71-x86_64-linux"
    outcome = settle(tree, deliver(Outcome(result=result, variant=other)))
    assert f"a worker built {other}, and was asked for cpu" in str(outcome.error)


def test_log_of_a_nameless_folder_is_kept_as_it_is(tree: KernelTree, variant: ArchVariant) -> None:
    failed = Outcome(result="failed", variant=str(variant), error=InputError("bad"))
    outcome = settle(tree, deliver(failed, root="", log=b"said\xff"))
    assert str(outcome.error) == "bad"
    [log] = (tree.root / ".kernelmill").rglob("*.log")
    assert log.read_text() == "said\ufffd"


def test_log_is_not_written_through_a_link(
    tree: KernelTree, variant: ArchVariant, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tree.root / ".kernelmill").mkdir()
    (tree.root / f".kernelmill/{variant}").symlink_to(tmp_path / "home")
    outcome = settle(tree, deliver(Outcome(result="failed", variant=str(variant)), log=b"x"))
    assert "is a link" in str(outcome.error)
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"number": 99, "kind": "told", "text": "x"},
        {"number": -1, "kind": "told", "text": "x"},
        {"number": 0, "kind": "done", "text": "x"},
        {"number": 0, "kind": "told", "text": 5},
        {"number": 0, "kind": "told", "text": "heard"},
    ],
    ids=repr,
)
def test_message_that_is_none_is_not_heard(said: Any) -> None:  # noqa: ANN401 - a worker's
    dask = pytest.importorskip("kernelmill.builder.runners.dask")
    heard: list[str] = []
    cluster: Any = object.__new__(dask.Cluster)
    cluster._listeners = [lambda it: heard.append(it.text)]
    cluster._futures = [Future()]
    cluster._hear((0.0, said))
    assert heard == (["heard"] if said and said.get("text") == "heard" else [])


# Processes of this machine


def order(root: Path) -> Order:
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return Order(job=Job(root=root, goal=CPU, env=env, python=sys.executable), is_verbose=False)


def test_worker_takes_no_module_from_the_folder_that_we_are_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pickle", "kernelmill", "threading"):
        (tmp_path / f"{name}.py").write_text("open('evil', 'w').close()\nraise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [it for it in sys.path if it])
    outcome = Child(order(tmp_path)).run(lambda _: None)
    assert "no build.toml here" in str(outcome.error)
    assert not (tmp_path / "evil").exists()


def test_worker_that_cannot_be_started_has_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(WorkerDied, match="cannot start a worker: No such file"):
        Child(order(tmp_path))
