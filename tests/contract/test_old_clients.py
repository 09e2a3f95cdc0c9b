"""What older clients need, found by running them: huggingface_hub 1.18 and 1.33."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.contract.raw import send

if TYPE_CHECKING:
    from demo.hub import RunningHub
    from tests.contract.conftest import TestRepo


def test_kernel_lists_its_files_only_when_asked(hub: RunningHub, repo: TestRepo) -> None:
    # Before 1.22 a snapshot of a kernel fails on the list, and goes on by the tree without one.
    reply = json.loads(send(hub, "GET", f"{repo.api_path}/revision/main").body)
    assert ("siblings" in reply) == (repo.kind == "model")
    full = json.loads(send(hub, "GET", f"{repo.api_path}/revision/main?blobs=true").body)
    assert full["siblings"] == []
