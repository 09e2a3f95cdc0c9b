"""The same call again in one process: the same module, at once, without a question."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, unload_kernels, write_files

from kernelmill.runtime import memo, session
from kernelmill.runtime.api import get_kernel
from kernelmill.runtime.errors import NotSigned, NotTrusted, UnpinnedKernelWarning
from kernelmill.runtime.hub.remembered import RememberedHub
from kernelmill.runtime.settings import DECIDING_VARIABLES
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.runtime.cache import Cache

TOY = "acme/toy"


class CountedHub(RememberedHub):
    """A Hub whose answers hold for a minute. It also counts what is asked of its memory."""

    questions = 0

    def fetch_trust(self, organisation: str) -> bool | None:
        CountedHub.questions += 1
        return super().fetch_trust(organisation)


@pytest.fixture
def toy(process_session: MemoryHub, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryHub]:
    def open_hub(_: object, cache: Cache, *__: object) -> CountedHub:
        hub = process_session
        return CountedHub(endpoint=hub.endpoint, cache=cache, connect=lambda: hub, max_age_s=60)

    monkeypatch.setattr(session, "open_hub", open_hub)
    monkeypatch.setattr(CountedHub, "questions", 0)
    for number in (1, 2):
        process_session.publish(TOY, f"v{number}", {"torch-cpu": kernel_files(value=number)})
    yield process_session
    memo._kept.clear()


def test_same_call_again_asks_nobody(toy: MemoryHub) -> None:
    module = get_kernel(TOY, version=1)
    toy.calls.clear()
    toy.is_down = True
    assert get_kernel(TOY, version=1) is module
    assert toy.calls == []
    assert CountedHub.questions == 1


def test_same_call_again_takes_less_than_a_hundredth_of_the_peers_time(toy: MemoryHub) -> None:
    """The peer takes 16 ms; the best of many, since other programs share this machine."""
    get_kernel(TOY, version=1, trust_remote_code=[TOY])
    times_s = []
    for _ in range(50):
        start = time.perf_counter()
        get_kernel(TOY, version=1, trust_remote_code=[TOY])
        times_s.append(time.perf_counter() - start)
    assert min(times_s) < 0.16e-3


@pytest.mark.parametrize(
    "other",
    [
        {"version": 2},
        {"revision": "v1"},
        {"version": 1, "backend": "cpu"},
        {"version": 1, "check_arch": False},
        {"version": 1, "trust_remote_code": ["acme/other"]},
    ],
)
def test_another_call_is_answered_anew(toy: MemoryHub, other: dict[str, object]) -> None:
    get_kernel(TOY, version=1)
    get_kernel(TOY, **other)  # type: ignore[arg-type]
    assert CountedHub.questions == 2


def test_answer_for_one_who_trusts_is_none_for_one_who_does_not(toy: MemoryHub) -> None:
    toy.trusted.clear()
    get_kernel(TOY, version=1, trust_remote_code=True)
    get_kernel(TOY, version=1, trust_remote_code=[TOY])
    for trust in (False, ["acme/other"]):
        with pytest.raises(NotTrusted):
            get_kernel(TOY, version=1, trust_remote_code=trust)


def test_equal_value_of_another_type_is_another_call(toy: MemoryHub) -> None:
    get_kernel(TOY, version=1)
    with pytest.raises(InputError, match="a version is a whole number"):
        get_kernel(TOY, version=True)
    with pytest.raises(InputError, match="trust_remote_code is 0"):
        get_kernel(TOY, version=1, trust_remote_code=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", DECIDING_VARIABLES)
def test_another_environment_is_answered_anew(
    toy: MemoryHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    get_kernel(TOY, version=1)
    values = {
        "HF_ENDPOINT": "http://other.test",
        "LOCAL_KERNELS": f"acme/other={tmp_path}",
        "KERNELS_BUNDLE": ":",  # names nothing
        "KERNELS_REVALIDATE": "5",
        "KERNELS_REQUIRE_SIGNATURE": "1",
    }
    monkeypatch.setenv(name, values.get(name, str(tmp_path / "elsewhere")))
    try:
        get_kernel(TOY, version=1)
        assert CountedHub.questions == 2
    except (NotSigned, InputError):  # no answer from memory, either
        assert name.startswith("KERNELS_")


def test_signature_can_be_required_of_a_kernel_that_is_loaded(
    toy: MemoryHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_kernel(TOY, version=1)
    monkeypatch.setenv("KERNELS_REQUIRE_SIGNATURE", "1")
    with pytest.raises(NotSigned, match="kernel is not signed by anybody who is trusted here"):
        get_kernel(TOY, version=1)


def test_override_takes_effect_at_once(
    toy: MemoryHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    get_kernel(TOY, version=1)
    write_files(tmp_path / "build/torch-cpu", kernel_files(value="local"))
    monkeypatch.setenv("LOCAL_KERNELS", f"{TOY}={tmp_path}")
    assert get_kernel(TOY, version=1).VALUE == "local"
    monkeypatch.delenv("LOCAL_KERNELS")
    assert get_kernel(TOY, version=1).VALUE == 1


def test_kernel_that_was_unloaded_is_loaded_anew(toy: MemoryHub) -> None:
    module = get_kernel(TOY, version=1)
    unload_kernels()
    assert get_kernel(TOY, version=1) is not module


def test_failure_is_not_remembered(toy: MemoryHub) -> None:
    toy.trusted.clear()
    with pytest.raises(NotTrusted):
        get_kernel(TOY, version=1)
    toy.trusted.add("acme")
    assert get_kernel(TOY, version=1).VALUE == 1


def test_advice_is_given_again_at_the_callers_line(toy: MemoryHub) -> None:
    for _ in range(2):
        with pytest.warns(UnpinnedKernelWarning, match="version=2") as seen:
            get_kernel(TOY)
        assert [each.filename for each in seen] == [__file__]


def test_trust_that_can_be_read_once_is_not_remembered(toy: MemoryHub) -> None:
    toy.trusted.clear()
    assert get_kernel(TOY, version=1, trust_remote_code=iter([TOY])).VALUE == 1
    with pytest.raises(NotTrusted):
        get_kernel(TOY, version=1, trust_remote_code=iter(["acme/other"]))
