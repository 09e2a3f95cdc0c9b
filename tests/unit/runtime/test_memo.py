"""Calls that this process has answered before."""

from __future__ import annotations

import inspect
import sys
import time
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from kernelmill.runtime import memo
from kernelmill.runtime.hub.expiry import note_expiry
from kernelmill.runtime.settings import DECIDING_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    memo._kept.clear()
    yield
    memo._kept.clear()


class Loader:
    """Loads a module, and says for how long it is the right one."""

    def __init__(self) -> None:
        self.calls = 0
        self.until: float | None = time.time() + 100
        self.module = ModuleType("_memo_kernel")
        self.get_kernel: Callable[..., ModuleType] = memo.memoized(self._load)

    def _load(self, _: str, **__: object) -> ModuleType:
        self.calls += 1
        if self.until is not None:
            note_expiry(self.until)
            note_expiry(self.until + 1)
        return self.module


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Loader:
    loader = Loader()
    monkeypatch.setitem(sys.modules, "_memo_kernel", loader.module)
    return loader


def calls_of(loader: Loader, **arguments: object) -> int:
    """Return how often a call and its repetition reach the loader."""
    loader.calls = 0
    for _ in range(2):
        assert loader.get_kernel("acme/toy", **arguments) is loader.module
    return loader.calls


@pytest.mark.parametrize(
    ("arguments", "calls"),
    [
        pytest.param({"version": 1}, 1, id="version"),
        pytest.param({"revision": "v1"}, 1, id="revision"),
        pytest.param({"version": 1, "revision": None, "user_agent": {"a": "b"}}, 1, id="agent"),
        pytest.param({"version": 1, "trust_remote_code": ["a/b", "c/d"]}, 1, id="list"),
        pytest.param({}, 2, id="unpinned-warns-each-time"),
        pytest.param({"version": None}, 2, id="none"),
        pytest.param({"version": 1, "backend": object()}, 2, id="odd"),
    ],
)
def test_call_is_answered_once(loader: Loader, arguments: dict[str, Any], calls: int) -> None:
    assert calls_of(loader, **arguments) == calls


def test_generator_is_read_by_nobody_but_the_function(loader: Loader) -> None:
    trust = (each for each in ["acme/toy"])
    loader.get_kernel("acme/toy", version=1, trust_remote_code=trust)
    assert list(trust) == ["acme/toy"]


@pytest.mark.parametrize(
    "other",
    [{"version": 2}, {"version": 1, "trust_remote_code": True}, {"version": True}],
)
def test_other_arguments_are_another_call(loader: Loader, other: dict[str, Any]) -> None:
    loader.get_kernel("acme/toy", version=1)
    assert calls_of(loader, **other) == 1


@pytest.mark.parametrize("name", [each for each in DECIDING_VARIABLES if each != "KERNELS_STRICT"])
def test_other_environment_is_another_call(
    loader: Loader, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    loader.get_kernel("acme/toy", version=1)
    monkeypatch.setenv(name, "changed")
    assert calls_of(loader, version=1) == 1


def test_strict_mode_keeps_no_calls(loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELS_STRICT", "1")
    assert calls_of(loader, version=1) == 2


@pytest.mark.parametrize(
    "until", [pytest.param(0.0, id="expired"), pytest.param(None, id="no-hub-asked")]
)
def test_answer_that_does_not_hold_is_not_kept(loader: Loader, until: float | None) -> None:
    loader.until = until
    assert calls_of(loader, version=1) == 2


def test_answer_is_asked_for_again_once_it_is_old(
    loader: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert calls_of(loader, version=1) == 1
    later = time.time() + 101
    monkeypatch.setattr(time, "time", lambda: later)
    assert calls_of(loader, version=1) == 2


def test_kernel_that_was_unloaded_is_loaded_again(
    loader: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert calls_of(loader, version=1) == 1
    monkeypatch.delitem(sys.modules, "_memo_kernel")
    assert calls_of(loader, version=1) == 2


def test_memory_is_bounded(loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MAX_CALLS", 3)
    for version in range(10):
        loader.get_kernel("acme/toy", version=version)
    assert len(memo._kept) <= 3


def test_signature_stays() -> None:
    def get_kernel(repo_id: str, *, version: int | None = None) -> ModuleType:
        raise NotImplementedError

    assert inspect.signature(memo.memoized(get_kernel)) == inspect.signature(get_kernel)
