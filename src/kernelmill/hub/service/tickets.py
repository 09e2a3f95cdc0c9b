"""Tickets: what this Hub once allowed, signed, so that it need not remember it.

A ticket says what it is for and until when. Who changes a byte of it has none.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.hub.errors import BadTicket

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SIGNATURE_BYTES: Final = 32

Claim = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What a valid ticket says."""

    claims: Mapping[str, Claim]

    def text(self, name: str) -> str:
        """Return a claim that is a text."""
        return str(self.claims[name])

    def number(self, name: str) -> int:
        """Return a claim that is a number."""
        return int(self.claims[name])


class TicketOffice:
    """Issues tickets and reads them."""

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock

    def issue(self, kind: str, *, expires_s: int, **claims: Claim) -> str:
        """Return a ticket of a kind that is good until a Unix time."""
        body = {"": kind, "exp": expires_s, **claims}
        payload = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
        return base64.urlsafe_b64encode(self._sign(payload) + payload).rstrip(b"=").decode()

    def read(self, text: str, *kinds: str) -> Ticket:
        """Return what a ticket of one of ``kinds`` says.

        Raises:
            BadTicket: it is forged, of another kind, or its time is over.
        """
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError as error:
            raise BadTicket("this is no ticket of this Hub") from error
        signature, payload = raw[:SIGNATURE_BYTES], raw[SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._sign(payload)):
            raise BadTicket("this is no ticket of this Hub")
        claims: dict[str, Claim] = json.loads(payload)
        if claims[""] not in kinds:
            raise BadTicket("the ticket is for something else")
        if int(claims["exp"]) < self._clock():
            raise BadTicket("the ticket's time is over: ask for a new one")
        return Ticket(claims=claims)

    def derive(self, *parts: bytes) -> bytes:
        """Return 32 bytes that only this Hub can compute from ``parts``."""
        return self._sign(b"derive\0" + b"\0".join(parts))

    def expiry(self, valid_s: int) -> int:
        """Return the Unix time so many seconds from now."""
        return int(self._clock()) + valid_s

    def _sign(self, payload: bytes) -> bytes:
        return hmac.digest(self._secret, payload, hashlib.sha256)
