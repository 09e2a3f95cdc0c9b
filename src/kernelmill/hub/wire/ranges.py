"""HTTP byte ranges (RFC 9110, section 14)."""

from __future__ import annotations

import re
from typing import Final

from kernelmill.hub.errors import RangeNotSatisfiable

ONE_RANGE: Final = re.compile(r"bytes=\s*([0-9]*)\s*-\s*([0-9]*)\s*")
BEYOND_DIGITS: Final = 18
"""A number with more digits is past the end of every file, and int() refuses thousands of them."""


def parse_range(header: str | None, size_bytes: int) -> range | None:
    """Return the bytes that a ``Range`` header asks for; None for the whole file.

    Several ranges, other units and malformed headers are ignored, as the RFC allows.

    Raises:
        RangeNotSatisfiable: it starts past the end.
    """
    match = ONE_RANGE.fullmatch(header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:  # the last N bytes
        start, stop = max(size_bytes - _number(last), 0), size_bytes
    else:
        start = _number(first)
        stop = min(_number(last) + 1, size_bytes) if last else size_bytes
        if last and _number(last) < start:
            return None
    if start >= size_bytes:
        raise RangeNotSatisfiable(
            f"the range starts past the end of {size_bytes} bytes", size_bytes=size_bytes
        )
    return range(start, stop)


def _number(digits: str) -> int:
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= BEYOND_DIGITS else 10**BEYOND_DIGITS
