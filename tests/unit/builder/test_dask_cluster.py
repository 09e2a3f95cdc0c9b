"""A Dask cluster seen from the machine that builds with it; no scheduler is needed for that."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.unit.builder.cuda.made_up import toolkit, trial
from tests.unit.builder.cuda.test_cuda_around import BOTH, place

from kernelmill.builder.job import Job
from kernelmill.builder.runners import Message
from kernelmill.builder.sdk.format import SdkRecord

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from kernelmill.builder.job import Site
    from kernelmill.builder.runners.dask import Cluster
    from kernelmill.builder.sdk.store import Sdk


class Client:
    """A scheduler that hears nothing."""

    def close(self) -> None:
        pass


def cluster(site: Site, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    from kernelmill.builder.runners import dask  # its import is slow

    monkeypatch.setattr(dask, "_connect", lambda _: Client())
    return dask.Cluster("tcp://127.0.0.1:1", site)


def add_sdk(site: Site, tmp_path: Path, kind: str, version: str) -> Sdk:
    tree = tmp_path / "made" / kind
    tree.mkdir(parents=True)
    record = SdkRecord(
        kind=kind,
        version=version,
        platform="x86_64-linux",
        inputs=(),
        facts={},
        nar_sha256="ab" * 32,
    )
    return site.store.install(record, tree)


def test_sdks_of_the_device_compiler_are_sent_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker without the CUDA SDK could build nothing for CUDA."""
    found = replace(trial(), toolkit=replace(toolkit(), inputs={"cuda-13.0.88": "ab" * 32}))
    site = place(tmp_path, cuda=(found,))
    add_sdk(site, tmp_path, "cuda", "13.0.88")
    add_sdk(site, tmp_path, "cutlass", "3.8.0")
    jobs = [Job(root=site.tree.root, goal=goal, env={}, python=sys.executable) for goal in BOTH]
    needed = cluster(site, monkeypatch)._needed(jobs)
    assert [it.record.name for it in needed] == ["cuda-13.0.88"]


def test_message_that_overtakes_the_future_of_its_job_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Message] = []
    workers = cluster(place(tmp_path), monkeypatch)
    workers._listeners.append(heard.append)
    workers._hear((0.0, {"number": 0, "kind": "started", "text": "tcp://10.0.0.1:7"}))
    assert heard == [Message("started", "tcp://10.0.0.1:7")]
