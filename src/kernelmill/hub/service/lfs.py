"""Uploads that come in parts: each is durable when it is answered, and all become one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.hub.errors import InvalidRequest
from kernelmill.hub.service.ingest import ingest, receiver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.service.ingest import Receiver
    from kernelmill.hub.service.tickets import Ticket

PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PartedUpload:
    """One file's upload in parts."""

    id: str
    sha256: str
    size_bytes: int
    part_bytes: int

    @classmethod
    def of(cls, hub: Hub, ticket: Ticket) -> PartedUpload:
        """Return the upload that a ticket is for."""
        return cls(
            id=ticket.text("upload"),
            sha256=ticket.text("oid"),
            size_bytes=ticket.number("size"),
            part_bytes=hub.settings.lfs_part_bytes,
        )

    @property
    def parts(self) -> int:
        """How many parts there are; they are numbered from 1."""
        return -(-self.size_bytes // self.part_bytes)

    def store(self, hub: Hub, number: int, received: Receiver) -> None:
        """Keep a part.

        Raises:
            InvalidRequest: it has not the length that it should have.
        """
        wanted = min(self.part_bytes, self.size_bytes - (number - 1) * self.part_bytes)
        if received.size_bytes != wanted:
            raise InvalidRequest(f"part {number} has {received.size_bytes} bytes, not {wanted}")
        hub.blobs.put(self.key(number), received.path)

    def key(self, number: int) -> str:
        """Return where the object store keeps a part."""
        return f"parts/{self.id}/{number}"


def join_parts(hub: Hub, repo_id: str, upload: PartedUpload, tags: Mapping[int, str]) -> None:
    """Make one stored file of an upload's parts, and forget them.

    Raises:
        InvalidRequest: a part is missing, or the whole has another sha256.
    """
    missing = [n for n in range(1, upload.parts + 1) if n not in tags]
    if missing:
        raise InvalidRequest(f"part {missing[0]} of {upload.parts} is not named")
    with receiver(hub.scratch) as received:
        for number in range(1, upload.parts + 1):
            try:
                part = hub.blobs.open(upload.key(number))
            except FileNotFoundError as error:
                raise InvalidRequest(f"part {number} of {upload.parts} never arrived") from error
            for start in range(0, len(part), PIECE_BYTES):
                received.write(bytes(part[start : start + PIECE_BYTES]))
        received.check(upload.sha256, upload.size_bytes)
        ingest(hub, repo_id, received, upload.sha256)
    hub.blobs.delete(*map(upload.key, range(1, upload.parts + 1)))
