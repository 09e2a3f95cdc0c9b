"""Write a Metal library as a C++ header: ``metallib_to_header.py LIBRARY HEADER``."""

from __future__ import annotations

import pathlib
import sys


def header(data: bytes) -> str:
    """Return the header's text."""
    rows = [data[start : start + 16] for start in range(0, len(data), 16)]
    numbers = "\n".join("  " + " ".join(f"0x{byte:02x}," for byte in row) for row in rows)
    return (
        "#pragma once\n#include <cstddef>\n"
        "namespace EMBEDDED_METALLIB_NAMESPACE {\n"
        f"inline constexpr unsigned char metallib_data[] = {{\n{numbers}\n}};\n"
        f"inline constexpr std::size_t metallib_size = {len(data)};\n"
        "}\n"
    )


if __name__ == "__main__":
    library, target = map(pathlib.Path, sys.argv[1:])
    target.write_text(header(library.read_bytes()), encoding="ascii")
