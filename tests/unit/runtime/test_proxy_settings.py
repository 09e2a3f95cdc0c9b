"""What the environment may name as a proxy; nothing is connected to."""

from __future__ import annotations

import pytest

from kernelmill.runtime.hub import connection
from kernelmill.spec.errors import InputError


@pytest.mark.parametrize(
    ("proxy", "fault"),
    [
        pytest.param("http://me:secret@host:80a", "has a port that is not a number", id="letter"),
        pytest.param("http://host:99999", "has a port that is not a number", id="too-large"),
        pytest.param("http://:8080", "has no host", id="host"),
        pytest.param("socks5://host:1", "is reached over 'socks5'", id="scheme"),
    ],
)
def test_unusable_proxy_is_the_users_own_mistake(
    proxy: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong port was told as an answer of the Hub's that makes no sense."""
    monkeypatch.setattr(connection, "getproxies", lambda: {"https": proxy})
    monkeypatch.setattr(connection, "proxy_bypass", lambda _: False)
    with (
        pytest.raises(InputError, match=f"the proxy {fault}") as caught,
        connection.get("https://hub.example/", {}),
    ):
        pass
    assert caught.value.where == "HTTPS_PROXY"
    assert caught.value.hint == "name a proxy as http://HOST:PORT"
    assert "secret" not in str(caught.value)
