#!/usr/bin/env python3
"""Put the device code of several GPUs into one clang offload bundle. Needs only Python.

    python hip_bundle.py OUTPUT gfx942=a.co gfx950=b.co

Same input, same bytes. Format:
https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-binary-file-layout
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
HOST = b"host-x86_64-unknown-linux--"
DEVICE = b"hipv4-amdgcn-amd-amdhsa--"
ALIGNMENT = 4096  # the HIP runtime maps code objects in place


def bundle(codes: dict[str, bytes]) -> bytes:
    """Return the bundle of architecture -> code object."""
    # HIP's loader wants a host entry first; it is empty, for the bundle sits inside the host code.
    entries = [(HOST, b""), *((DEVICE + arch.encode(), codes[arch]) for arch in sorted(codes))]
    size = len(MAGIC) + 8 + sum(24 + len(identity) for identity, _ in entries)
    header, body = MAGIC + struct.pack("<Q", len(entries)), b""
    for identity, code in entries:
        body += bytes(-(size + len(body)) % ALIGNMENT)
        header += struct.pack("<QQQ", size + len(body), len(code), len(identity)) + identity
        body += code
    return header + body


def main(argv: list[str]) -> int:
    """Write the bundle; an incomplete one never gets the output's name."""
    output, *inputs = argv
    codes = {}
    for item in inputs:
        arch, _, path = item.partition("=")
        codes[arch] = Path(path).read_bytes()
    temporary = Path(f"{output}.tmp")
    temporary.write_bytes(bundle(codes))
    temporary.replace(output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
