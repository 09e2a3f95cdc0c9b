"""A client process: ``committer.py URL TOKEN REPO NAME NUMBER`` adds NUMBER commits to main.

It prints the title of each commit that the Hub has acknowledged, and tries again while the Hub is
down. It speaks plain HTTP, so that nothing but the Hub decides what happens.
"""

from __future__ import annotations

import base64
import http.client
import json
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit


def commit(ready: Path, token: str, repo: str, title: str) -> None:
    """Add one commit that adds the file ``title``; raise OSError when the Hub does not answer."""
    where = urlsplit(json.loads(ready.read_text())["url"])
    content = base64.b64encode(title.encode() * 2000).decode()
    lines = (
        {"key": "header", "value": {"summary": title}},
        {"key": "file", "value": {"path": title, "content": content, "encoding": "base64"}},
    )
    body = "\n".join(map(json.dumps, lines))
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        path = f"/api/kernels/{repo}/commit/main"
        connection.request("POST", path, body, {"Authorization": f"Bearer {token}"})
        reply = connection.getresponse()
        text = reply.read()
    finally:
        connection.close()
    if reply.status != 200:
        sys.exit(f"{title}: {reply.status} {text!r}")


def main(ready: str, token: str, repo: str, name: str, number: str) -> None:
    """Add the commits, one after another."""
    deadline = time.monotonic() + 120
    for i in range(int(number)):
        while True:
            # A commit whose answer was lost may be there all the same, so each try has a name.
            title = f"{name}-{i}-{time.monotonic_ns()}"
            try:
                commit(Path(ready), token, repo, title)
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    sys.exit("the Hub did not come back")
                time.sleep(0.05)
            else:
                sys.stdout.write(f"{title}\n")
                sys.stdout.flush()
                break


if __name__ == "__main__":
    main(*sys.argv[1:])
