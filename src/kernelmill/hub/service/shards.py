"""Believe an uploaded shard only after checking it: chunks, hashes, and the bytes themselves."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.hub.errors import InvalidRequest
from kernelmill.hub.service.large import Span, audience, stream_span
from kernelmill.hub.store.large import LargeFile
from kernelmill.hub.wire.hashes import file_hash, hash_text, range_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.large import Xorb
    from kernelmill.hub.store.repos import Repo
    from kernelmill.hub.wire.shards import Shard, ShardFile

MAX_SHARD_BYTES: Final = 1 << 40
"""What the files of one shard may hold together: every byte is read and hashed."""

Ranges = list[tuple[bytes, int, int]]


@dataclass(frozen=True, slots=True)
class Verified:
    """So many files of the shard are checked."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Registered:
    """Everything is checked and durable."""

    is_new: bool


def register_shard(
    hub: Hub, repo: Repo, bearer: Bearer, shard: Shard
) -> Iterator[Verified | Registered]:
    """Check a shard's files and make them known; yield how far that is.

    Raises:
        InvalidRequest: something in it is not true, or not for this asker to use.
        RepoNotFound: the repository was deleted meanwhile.
    """
    names = {bytes(name) for file in shard.files for name in file.terms["xorb"]}
    xorbs = hub.large.xorbs_for(audience(bearer), names | set(shard.xorbs))
    for name in sorted(names | set(shard.xorbs)):
        if name not in xorbs:
            raise InvalidRequest(f"xorb {hash_text(name)} was never uploaded to where you may read")
    if sum(file.size_bytes for file in shard.files) > MAX_SHARD_BYTES:
        raise InvalidRequest(f"the files of one shard may hold {MAX_SHARD_BYTES} bytes together")
    files = []
    for done, file in enumerate(shard.files):
        yield Verified(done, len(shard.files))
        files.append(_check_file(hub, file, xorbs))
    yield Verified(len(shard.files), len(shard.files))
    yield Registered(hub.large.publish(repo.id, files=files))


def _check_file(hub: Hub, file: ShardFile, xorbs: Mapping[bytes, Xorb]) -> tuple[LargeFile, Ranges]:
    what = f"file {hash_text(file.hash)}"
    if file.size_bytes > hub.settings.max_file_bytes:
        raise InvalidRequest(f"{what} is larger than {hub.settings.max_file_bytes} bytes")
    nodes: list[tuple[bytes, int]] = []
    ranges: Ranges = []
    for place, term in enumerate(file.terms):
        xorb = xorbs[bytes(term["xorb"])]
        start, end = int(term["start"]), int(term["end"])
        if not start < end <= len(xorb.index) or xorb.index.size(start, end) != int(term["size"]):
            raise InvalidRequest(f"{what}: its range {place} does not fit the xorb")
        if file.proofs is not None:
            proof = range_hash(xorb.index.hashes(start, end))
            if proof != bytes(file.proofs["hash"][place]):
                raise InvalidRequest(f"{what}: its range {place} has another hash")
        nodes += xorb.index.nodes(start, end)
        ranges.append((xorb.hash, start, end))
    if file_hash(nodes) != file.hash:
        raise InvalidRequest(f"{what}: its chunks have another hash")
    sha256 = _sha256(hub, file, [Span(xorb=xorbs[x].id, start=s, end=e) for x, s, e in ranges])
    if file.sha256 not in {None, sha256}:
        raise InvalidRequest(f"{what}: its bytes do not have the sha256 {file.sha256}")
    return LargeFile(hash=file.hash, sha256=sha256, size_bytes=file.size_bytes), ranges


def _sha256(hub: Hub, file: ShardFile, spans: list[Span]) -> str:
    known = hub.large.known_file(file.hash)
    if known is not None:
        return known.sha256  # equal chunks were read before
    digest = hashlib.sha256()
    for span in spans:
        for chunk in stream_span(hub.large, span):
            digest.update(chunk)
    return digest.hexdigest()
