"""Sizes as people read them."""

from __future__ import annotations


def shown_size(size_bytes: int) -> str:
    """Return a size as people read it: ``812 bytes``, ``3.4 kB``; never 0.0 of anything."""
    if size_bytes < 1000:
        return f"{size_bytes} byte{'' if size_bytes == 1 else 's'}"
    size, unit = size_bytes / 1e3, "kB"
    for larger in ("MB", "GB", "TB"):
        if size < 999.95:
            break
        size, unit = size / 1e3, larger
    return f"{size:.1f} {unit}"
