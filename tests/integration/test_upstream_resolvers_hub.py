"""The original's resolvers with a real ``HfApi``, against a real Hub."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from demo.hub import RunningHub, serving
from huggingface_hub import HfApi
from tests.unit.runtime.kernel_files import kernel_files, unload_kernels, write_files

from kernelmill.runtime.cli import main
from kernels._rust import KernelDependency, KernelVersion
from kernels.deps import resolve_kernel_tree
from kernels.resolver import HubCacheResolver, HubResolver
from kernels.status import resolve_status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with serving(tmp_path_factory.mktemp("hub"), "--trust", "acme") as running:
        yield running


def test_private_kernel_is_loaded_from_the_hub_and_with_the_token_of_the_api(
    server: RunningHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in os.environ if each.startswith(("HF_", "KERNELS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    write_files(tmp_path / "kernel/build/torch-universal", kernel_files(value="private"))
    with monkeypatch.context() as publisher:
        publisher.setenv("HF_ENDPOINT", server.url)
        publisher.setenv("HF_TOKEN", server.token)
        upload = ["upload", str(tmp_path / "kernel"), "--repo-id", "acme/toy", "--private"]
        assert main(upload) == 0
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    wanted = KernelDependency("acme/toy", KernelVersion.Version(1))
    stranger = HfApi(endpoint=server.url, token=False)
    with pytest.raises(OSError, match="acme/toy"):
        resolve_kernel_tree(stranger, wanted, None, HubResolver(False))
    owner = HfApi(endpoint=server.url, token=server.token)
    tree = resolve_kernel_tree(owner, wanted, "cpu", HubResolver(False)).install(api=owner)
    assert tree.load().VALUE == "private"
    assert resolve_status(owner, "acme/toy", "v1") == ("acme/toy", "v1")
    unload_kernels()
    cached = resolve_kernel_tree(stranger, wanted, "cpu", HubCacheResolver(False))
    assert cached.load().VALUE == "private"
    unload_kernels()
