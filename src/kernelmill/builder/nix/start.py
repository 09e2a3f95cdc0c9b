"""What a derivation runs: it makes the same room as our own sandbox, and builds a variant in it.

``python3 -m kernelmill.builder.nix.start`` in Nix's sandbox, with in the environment: ``src``, the
kernel's folder; ``order``, the text of ``job.json``; ``trees``, the folder of each SDK by name, as
JSON; ``out`` and ``statement``, the places of the results.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.inside import order as order_format
from kernelmill.builder.inside.places import STATEMENT_SUFFIX
from kernelmill.builder.release import fill_room, room_of
from kernelmill.builder.sandbox import namespaces
from kernelmill.builder.sandbox.room import HOST_NAME, USER
from kernelmill.builder.sources import read_tree

if TYPE_CHECKING:
    from collections.abc import Mapping


def main(env: Mapping[str, str]) -> int:
    """Build, and return the status of what ran in the room."""
    order = order_format.parse(env["order"], where="the derivation's order")
    trees = {name: Path(it) for name, it in json.loads(env["trees"]).items()}
    place = Path(env["NIX_BUILD_TOP"]) / "room"
    place.mkdir()
    fill_room(place, read_tree(Path(env["src"])), order)
    jobs = env.get("NIX_BUILD_CORES", "")
    room = room_of(place, trees, {"MAX_JOBS": jobs} if jobs.strip("0") else {})
    # In a process of its own: whoever enters a room does not come out again.
    child = os.fork()
    if child == 0:
        os._exit(namespaces.main([namespaces.document(room, user=USER, host_name=HOST_NAME)]))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 0:
        shutil.copytree(place / "out" / order.variant, env["out"])
        shutil.copyfile(place / f"out/{order.variant}{STATEMENT_SUFFIX}", env["statement"])
    return status


if __name__ == "__main__":
    sys.exit(main(os.environ))
