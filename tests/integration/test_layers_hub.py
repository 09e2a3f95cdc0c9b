"""Layers whose kernels come from a real Hub, over HTTP on loopback."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import pytest
import torch
from demo.hub import RunningHub, serving
from tests.unit.runtime.kernel_files import kernel_files, unload_kernels, write_files
from torch import nn

from kernelmill.runtime.cli import main
from kernelmill.runtime.errors import NotTrusted, VersionNotFound
from kernelmill.runtime.hub.publisher import RemotePublisher
from kernelmill.runtime.layers import (
    FuncRepository,
    KernelizeFallback,
    LayerRepository,
    LockedLayerRepository,
    Mode,
    explain,
    kernelize,
    use_kernel_forward_from_hub,
    use_kernel_mapping,
)
from kernelmill.runtime.load import get_loaded_kernels
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.runtime.layers.mapping import KernelMapping

LAYERS = """
from torch import nn


class FastScale(nn.Module):
    def forward(self, x):
        return self.weight * x + {value}
"""


@use_kernel_forward_from_hub("Scale")
class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((1,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with serving(tmp_path_factory.mktemp("hub"), "--trust", "acme") as running:
        running.run("org", "create", "stranger")
        yield running


@pytest.fixture(autouse=True)
def client(
    server: RunningHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.MonkeyPatch]:
    """An environment that talks to the Hub as its administrator, with an empty cache."""
    for name in [each for each in os.environ if each.startswith(("HF_", "KERNELS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    use_hub(monkeypatch, server)
    yield monkeypatch
    unload_kernels()


def use_hub(monkeypatch: pytest.MonkeyPatch, hub: RunningHub) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", hub.token)


def upload(folder: Path, repo: str, *, value: int = 100, version: int = 1) -> None:
    init = f"from . import layers\n\n\ndef shift(x):\n    return x + {value}\n"
    sources = {"__init__.py": init, "layers.py": LAYERS.format(value=value)}
    place = folder / f"{repo}-{version}-{value}"
    write_files(place / "build/torch-cpu", kernel_files(version=version, sources=sources))
    assert main(["upload", str(place), "--repo-id", repo]) == 0


def scale(mapping: KernelMapping, **options: KernelizeFallback | str) -> tuple[float, Scale]:
    layer = Scale()
    with use_kernel_mapping(mapping, inherit_mapping=False):
        kernelize(layer, mode=Mode.INFERENCE, **options)  # type: ignore[arg-type]
    return layer(torch.ones(1)).item(), layer


def from_hub(repo: str, **options: object) -> KernelMapping:
    arguments = {"layer_name": "FastScale", "version": 1} | options
    return {"Scale": {"cpu": LayerRepository(repo, **arguments)}}  # type: ignore[arg-type]


def test_layer_from_the_hub_is_reported_with_its_commit(tmp_path: Path) -> None:
    upload(tmp_path, "acme/scale")
    result, layer = scale(from_hub("acme/scale"))
    assert result == 103
    origin = explain(layer).layers[0].origin
    (loaded,) = get_loaded_kernels()
    assert origin is not None
    assert loaded.repo_info is not None
    assert (origin.repo_id, origin.version, origin.variant) == ("acme/scale", 1, "torch-cpu")
    assert origin.revision == loaded.repo_info.revision
    text = explain(layer).to_text()
    assert "kernel: `acme/scale` (revision: v1), layer `FastScale` (version 1, commit" in text


def test_layer_and_function_of_a_stranger_need_trust(tmp_path: Path) -> None:
    """S3: no fallback and no policy passes over it, and nothing is loaded."""
    upload(tmp_path, "stranger/scale")
    function = FuncRepository("stranger/scale", func_name="shift", version=1)
    for mapping in (from_hub("stranger/scale"), {"Scale": {"cpu": function}}):
        for options in ({}, {"use_fallback": KernelizeFallback.ALL}, {"policy": "silent"}):
            with pytest.raises(NotTrusted, match="is not from a trusted publisher"):
                scale(mapping, **options)
    assert get_loaded_kernels() == []
    other = from_hub("stranger/scale", trust_remote_code=["stranger/other"])
    with pytest.raises(NotTrusted, match="is not from a trusted publisher"):
        scale(other)
    assert scale(from_hub("stranger/scale", trust_remote_code=["stranger/scale"]))[0] == 103
    assert scale(from_hub("stranger/scale", trust_remote_code=True))[0] == 103


def test_locked_layer_loads_its_commit_and_needs_trust_too(tmp_path: Path) -> None:
    """S3: a lock file says which code runs, not whose may."""
    for organisation in ("acme", "stranger"):
        upload(tmp_path, f"{organisation}/locked", value=1)
    endpoint = os.environ["HF_ENDPOINT"]
    locks = []
    for organisation in ("acme", "stranger"):
        repo = RepoId.parse(f"{organisation}/locked")
        commit = RemotePublisher(endpoint, repo, "kernel").fetch_branches()["v1"]
        dependency = {"repo-id": str(repo), "version": 1}
        locks.append({"dependency": dependency, "lock": {"commit": commit}})
    lockfile = tmp_path / "kernels.lock"
    lockfile.write_text(json.dumps(locks), encoding="utf-8")
    for organisation in ("acme", "stranger"):
        upload(tmp_path, f"{organisation}/locked", value=2)

    def locked(repo: str, *, trust: bool = False) -> KernelMapping:
        layer = LockedLayerRepository(
            repo, lockfile=lockfile, layer_name="FastScale", trust_remote_code=trust
        )
        return {"Scale": {"cpu": layer}}

    assert scale(locked("acme/locked"))[0] == 4
    assert scale(from_hub("acme/locked"))[0] == 5
    with pytest.raises(NotTrusted, match="is not from a trusted publisher"):
        scale(locked("stranger/locked"), use_fallback=KernelizeFallback.ALL)
    assert scale(locked("stranger/locked", trust=True))[0] == 4


def test_versions_are_told_apart(tmp_path: Path) -> None:
    upload(tmp_path, "acme/versions", value=1, version=1)
    upload(tmp_path, "acme/versions", value=2, version=2)
    results = [scale(from_hub("acme/versions", version=version))[0] for version in (1, 2, 1)]
    assert results == [4, 5, 4]
    with pytest.raises(VersionNotFound, match="available versions: 1, 2"):
        scale(from_hub("acme/versions", version=3))
    assert scale(from_hub("acme/versions", version=3), policy="warn")[0] == 3


def test_same_name_on_two_hubs_is_two_kernels(
    tmp_path: Path, server: RunningHub, client: pytest.MonkeyPatch
) -> None:
    """One repository object, used while the process turns to another Hub and back."""
    mapping = from_hub("acme/twin")
    upload(tmp_path, "acme/twin", value=10)
    assert scale(mapping)[0] == 13
    with serving(tmp_path / "other", "--trust", "acme") as other:
        use_hub(client, other)
        upload(tmp_path, "acme/twin", value=20)
        assert scale(mapping)[0] == 23
    use_hub(client, server)
    assert scale(mapping)[0] == 13


def test_threads_that_kernelize_at_once_load_one_kernel(tmp_path: Path) -> None:
    upload(tmp_path, "acme/threads")
    results = list[float]()
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        results.append(scale(from_hub("acme/threads"))[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [103] * 4
    assert len(get_loaded_kernels()) == 1


def test_disabled_kernels_ask_no_hub(client: pytest.MonkeyPatch) -> None:
    """Y16."""
    client.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    client.setenv("DISABLE_KERNEL_MAPPING", "1")
    assert scale(from_hub("acme/absent"))[0] == 3
