"""Plain HTTP, for what the real client would never send."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from demo.hub import RunningHub


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An HTTP reply."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """The text of an error's JSON body."""
        return str(json.loads(self.body)["error"])


def send(
    hub: RunningHub,
    method: str,
    path: str,
    body: bytes | None = None,
    *,
    token: str | None = "admin",
    **headers: str,
) -> Reply:
    """Send one request; ``token`` "admin" stands for the administrator's."""
    where = urlsplit(hub.url)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        sent["Authorization"] = f"Bearer {hub.token if token == 'admin' else token}"
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    try:
        connection.request(method, path, body, sent)
        reply = connection.getresponse()
        return Reply(
            status=reply.status,
            headers={name.lower(): value for name, value in reply.getheaders()},
            body=reply.read(),
        )
    finally:
        connection.close()
