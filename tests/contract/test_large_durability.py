"""No acknowledged large file is lost, whatever is killed."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import time
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from demo.hub import start, stop
from huggingface_hub import HfApi
from tests.contract.raw import send

from kernelmill.hub.service.hub import existing_hub

if TYPE_CHECKING:
    from pathlib import Path

    from demo.hub import RunningHub

LFS = "/kernels/acme/k.git/info/lfs/objects/batch"


def ask(hub: RunningHub, operation: str, data: bytes) -> str | None:
    """Return the address for one file's bytes, or None when there is nothing to send."""
    wanted = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}
    body = json.dumps({"operation": operation, "objects": [wanted]}).encode()
    [row] = json.loads(send(hub, "POST", LFS, body).body)["objects"]
    actions = row.get("actions", {})
    return str(actions[operation]["href"]).removeprefix(hub.url) if actions else None


def upload_until_it_breaks(hub: RunningHub, dice: random.Random, kept: list[bytes]) -> None:
    try:
        while True:
            data = dice.randbytes(dice.randrange(100_000, 600_000))
            href = ask(hub, "upload", data)
            assert href is not None
            if send(hub, "PUT", href, data, token=None).status == 200:
                kept.append(data)
    except (OSError, http.client.HTTPException):
        return


@pytest.mark.parametrize("kills", [1, pytest.param(25, marks=pytest.mark.long)])
def test_acknowledged_files_survive_when_the_server_is_killed(tmp_path: Path, kills: int) -> None:
    hub = start(tmp_path, "--trust", "acme")
    kept: list[bytes] = []
    dice = random.Random(kills)
    try:
        HfApi(endpoint=hub.url, token=hub.token).create_repo("acme/k", repo_type="kernel")
        for number in range(kills):
            sender = Thread(target=upload_until_it_breaks, args=(hub, random.Random(number), kept))
            sender.start()
            time.sleep(dice.uniform(0.5, 1.0))
            hub.process.kill()
            hub.process.wait()
            sender.join()
            hub = start(tmp_path)
        assert kept
        for data in kept:
            href = ask(hub, "download", data)
            assert href is not None
            assert send(hub, "GET", href, token=None).body == data
            assert ask(hub, "upload", data) is None
    finally:
        stop(hub)
    with existing_hub(tmp_path / "data") as opened:
        assert opened.large.keys() <= set(opened.blobs.list_keys("xorbs"))
