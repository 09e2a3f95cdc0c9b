from __future__ import annotations

import socket
import time
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from huggingface_hub import close_session

from kernelmill.runtime.errors import HubUnreachable
from kernelmill.runtime.hub.guard import limit_time, time_limit
from kernelmill.runtime.hub.publisher import RemotePublisher
from kernelmill.runtime.hub.remote import RemoteHub
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Request:
    """A request of an HTTP client."""

    extensions: dict[str, Any] = field(default_factory=dict)


TOY = RepoId.parse("acme/toy")


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    close_session()


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda hub: hub.fetch_trust("acme"), id="trust"),
        pytest.param(lambda hub: hub.fetch_refs(TOY), id="refs"),
        pytest.param(lambda hub: hub.fetch_commit(TOY, "v1"), id="commit"),
        pytest.param(lambda hub: hub.fetch_folders(TOY, "0" * 40, "build"), id="folders"),
    ],
)
def test_hub_that_hangs_is_given_up(silent: str, ask: Callable[[RemoteHub], object]) -> None:
    start = time.monotonic()
    with pytest.raises(HubUnreachable, match=r"the Hub does not answer \(timed out\)"):
        ask(RemoteHub(silent, timeout_s=0.2))
    assert time.monotonic() - start < 10


def test_error_shows_one_traceback_and_the_log_the_others(
    silent: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "kernelmill")
    with pytest.raises(HubUnreachable) as caught:
        RemoteHub(silent, timeout_s=0.2).fetch_trust("acme")
    assert "".join(traceback.format_exception(caught.value)).count("Traceback") == 1
    assert "timed out" in caplog.text


def test_upload_to_a_hub_that_hangs_is_given_up(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelmill.runtime.hub.publisher.PREPARE_TIMEOUT_S", 0.2)
    with pytest.raises(HubUnreachable, match="the Hub does not answer"):
        RemotePublisher(silent, TOY, "kernel").ensure_repo(is_private=False)


def test_time_limit_ends_with_its_block() -> None:
    request = Request()
    with time_limit(0.1):
        limit_time(request)
    assert request.extensions["timeout"]["read"] == 0.1
    later = Request()
    limit_time(later)
    assert later.extensions == {}


def test_time_limit_leaves_a_limit_that_a_request_has() -> None:
    request = Request(extensions={"timeout": {"connect": None, "read": 60.0}})
    with time_limit(0.1):
        limit_time(request)
    assert request.extensions == {"timeout": {"connect": None, "read": 60.0}}
