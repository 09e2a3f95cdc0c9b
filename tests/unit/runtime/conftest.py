from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, unload_kernels

from kernelmill.runtime import session
from kernelmill.runtime.cache import Cache
from kernelmill.runtime.hub.remembered import RememberedHub
from kernelmill.runtime.session import Session
from kernelmill.spec.backend import Backend
from kernelmill.spec.host import Host
from kernelmill.spec.version import parse_release

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.settings import Settings


@pytest.fixture(autouse=True)
def clean_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Give each test its own environment, and forget the kernels that it loaded."""
    for name in ("KERNELS_CACHE", "HF_HUB_CACHE", "HF_ENDPOINT", "LOCAL_KERNELS", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf-home"))
    before = set(sys.modules)
    yield
    unload_kernels()
    leftovers = {name for name in set(sys.modules) - before if name.startswith("_toy")}
    assert not leftovers, "a kernel stayed in sys.modules"


@pytest.fixture
def host() -> Host:
    return Host(
        cpu="x86_64",
        os="linux",
        backend=Backend.CPU,
        torch=parse_release("2.13.0+cpu", what="torch"),
        cxx11_abi=True,
        python=(3, 11),
        glibc=(2, 36),
    )


@pytest.fixture
def hub() -> MemoryHub:
    return MemoryHub()


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """The cache that the public functions use, too."""
    return Cache(root=tmp_path / "hf-home" / "hub")


@pytest.fixture
def loader(hub: MemoryHub, cache: Cache, host: Host) -> Session:
    """A session over the Hub in memory."""
    return Session(hub=hub, cache=cache, host=host)


@pytest.fixture
def process_session(monkeypatch: pytest.MonkeyPatch, hub: MemoryHub, host: Host) -> MemoryHub:
    """Make the public functions of this process talk to the Hub in memory, each time anew."""

    def open_hub(_: Settings, cache: Cache, *__: object) -> Hub:
        return RememberedHub(endpoint=hub.endpoint, cache=cache, connect=lambda: hub, max_age_s=0.0)

    monkeypatch.setattr(session, "open_hub", open_hub)
    monkeypatch.setattr(session, "probe_host", lambda: host)
    return hub
