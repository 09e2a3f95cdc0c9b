"""Time the Hub against named peers, on loopback: ``python -m benchmarks.hub [--json FILE]``.

Answers are checked before they are timed. The peer of a download is Python's ``http.server`` on the
same file; the peer of a commit is ``git commit`` of the same change in a local repository.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import platform
import statistics
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from demo.hub import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGE_BYTES: Final = 100_000_000
REPEATS: Final = 60
LARGE_REPEATS: Final = 3
REPO: Final = "acme/bench"


class Client:
    """One keep-alive connection."""

    def __init__(self, url: str, token: str = "") -> None:
        where = urlsplit(url)
        self._connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=300)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Send a request, which must succeed, and return the reply's body."""
        self._connection.request(method, path, body, self._headers)
        reply = self._connection.getresponse()
        data = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{method} {path}: {reply.status} {data[:200]!r}")
        return data


@contextmanager
def serve_hub(folder: Path) -> Iterator[Client]:
    """Serve an empty Hub with one repository."""
    with serving(folder / "hub", "--trust", "acme") as hub:
        client = Client(hub.url, hub.token)
        create = {"name": "bench", "organization": "acme", "type": "kernel"}
        client.send("POST", "/api/repos/create", json.dumps(create).encode())
        yield client


@contextmanager
def serve_files(folder: Path) -> Iterator[Client]:
    """Serve a folder with Python's own server."""

    class Quiet(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Client(f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()


def commit_body(path: str, data: bytes) -> bytes:
    """Return a commit request that adds one file."""
    content = base64.b64encode(data).decode()
    value = {"path": path, "content": content, "encoding": "base64"}
    lines = (
        {"key": "header", "value": {"summary": path}},
        {"key": "file", "value": value},
    )
    return "\n".join(map(json.dumps, lines)).encode()


def time_ms(run: Callable[[int], object], repeats: int) -> dict[str, float]:
    """Return median and 95th percentile over ``repeats`` runs, after one to warm up."""
    times = []
    for i in range(repeats + 1):
        start = time.perf_counter()
        run(i)
        times.append(1000 * (time.perf_counter() - start))
    times = sorted(times[1:])
    p95 = times[min(len(times) - 1, round(0.95 * len(times)))]
    return {"median_ms": round(statistics.median(times), 2), "p95_ms": round(p95, 2)}


def measure_hub(folder: Path, large: bytes) -> dict[str, dict[str, float]]:
    """Time the Hub."""
    api, files = f"/api/kernels/{REPO}", f"/kernels/{REPO}/resolve/main"
    with serve_hub(folder) as hub:
        upload = time_ms(
            lambda i: hub.send(
                "POST", f"{api}/commit/main", commit_body("large", large + b"%d" % i)
            ),
            LARGE_REPEATS,
        )
        assert hub.send("GET", f"{files}/large") == large + b"%d" % LARGE_REPEATS
        return {
            "upload 100 MB in a commit": upload,
            "download 100 MB": time_ms(lambda _: hub.send("GET", f"{files}/large"), LARGE_REPEATS),
            "HEAD of a file": time_ms(lambda _: hub.send("HEAD", f"{files}/large"), REPEATS),
            "commit of one small file": time_ms(
                lambda i: hub.send(
                    "POST", f"{api}/commit/main", commit_body(f"s/{i}", b"x" * 1000)
                ),
                REPEATS,
            ),
            "list the tree": time_ms(
                lambda _: hub.send("GET", f"{api}/tree/main?recursive=true"), REPEATS
            ),
        }


def measure_peers(folder: Path, large: bytes) -> dict[str, dict[str, float]]:
    """Time ``http.server`` and ``git`` at the same work."""
    (folder / "large").write_bytes(large)
    repo = folder / "repo"
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(repo), *identity, *arguments], check=True)

    def commit(i: int) -> None:
        (repo / f"{i}").write_bytes(b"x" * 1000)
        git("add", f"{i}")
        git("commit", "--quiet", "-m", f"{i}")

    repo.mkdir()
    git("init", "--quiet")
    with serve_files(folder) as server:
        assert server.send("GET", "/large") == large
        return {
            "download 100 MB": time_ms(lambda _: server.send("GET", "/large"), LARGE_REPEATS),
            "HEAD of a file": time_ms(lambda _: server.send("HEAD", "/large"), REPEATS),
            "commit of one small file": time_ms(commit, REPEATS),
        }


def main() -> None:
    """Measure, print a table, and write JSON when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    large = os.urandom(LARGE_BYTES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "peer").mkdir()
        hub, peers = measure_hub(folder, large), measure_peers(folder / "peer", large)
    print(f"{platform.machine()}, {os.cpu_count()} cores, loopback, one connection, noise as data")
    print(
        "peers: Python's http.server for downloads and HEAD, `git add` + `git commit` for commits"
    )
    print(f"{'':28}{'Hub median / p95 ms':>24}{'peer median / p95 ms':>24}{'ratio':>8}")
    for work, ours in hub.items():
        text = f"{work:28}{ours['median_ms']:>14} / {ours['p95_ms']:>7}"
        if work in peers:
            theirs = peers[work]
            ratio = ours["median_ms"] / theirs["median_ms"]
            text += f"{theirs['median_ms']:>14} / {theirs['p95_ms']:>7}{ratio:>8.2f}"
        print(text)
    if args.json:
        report = {"version": 1, "cores": os.cpu_count(), "hub": hub, "peers": peers}
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
