"""A repository of the Hub as a bare git repository, for as long as one request lasts."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.hub.store.names import MAIN
from kernelmill.hub.store.objects import pack_key
from kernelmill.hub.store.repos import ensure_exists, read_packs, read_refs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.repos import PackRow, Repo

PREFIX: Final = "git-"
CONFIG: Final = """\
[core]
	repositoryformatversion = 0
	bare = true
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
"""


@contextmanager
def bare_repo(hub: Hub, repo: Repo) -> Iterator[Path]:
    """Make a folder that git reads as the repository, and remove it at the end.

    Raises:
        RepoNotFound: the repository was deleted meanwhile.
    """
    folder = Path(tempfile.mkdtemp(dir=hub.scratch, prefix=PREFIX))
    try:
        # References first, packs second: then no reference leads to a pack that was not seen.
        refs = read_refs(hub.database, repo.id)
        packs = folder / "objects" / "pack"
        packs.mkdir(parents=True)
        try:
            for row in read_packs(hub.database, repo.id, after=0):
                _place_pack(hub, repo, row, packs)
        except FileNotFoundError:
            ensure_exists(hub.database, repo.id)
            raise
        (folder / "refs").mkdir()
        (folder / "HEAD").write_text(f"ref: {MAIN}\n")
        (folder / "config").write_text(CONFIG)
        lines = (f"{value} {name}\n" for name, value in sorted(refs.items()))
        (folder / "packed-refs").write_text("".join(lines), encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _place_pack(hub: Hub, repo: Repo, row: PackRow, packs: Path) -> None:
    target = packs / f"pack-{row.name.rpartition('-')[2]}"
    for suffix, data in ((".pack", row.data), (".idx", row.index)):
        path = target.with_name(target.name + suffix)
        if path.exists():
            continue  # packs of one name hold the same bytes
        if data is not None:
            path.write_bytes(data)
        else:
            hub.blobs.link(f"{pack_key(repo.id, row.name)}{suffix}", path)
