"""Print what a build needs to know about the installed TVM FFI, as JSON, without importing it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import pathlib
import sys


def tvm_ffi_facts() -> dict[str, object]:
    """Return the facts, or a reason why there are none."""
    spec = importlib.util.find_spec("tvm_ffi")
    if spec is None or spec.origin is None:
        return {"error": "TVM FFI is not installed for " + sys.executable}
    root = pathlib.Path(spec.origin).parent
    library = root / "lib" / "libtvm_ffi.so"
    if not library.exists():
        return {"error": "no " + str(library)}
    return {
        "version": importlib.metadata.version("apache-tvm-ffi"),
        "include": str(root / "include"),
        "library": str(library),
        "python": sys.executable,
    }


if __name__ == "__main__":
    json.dump(tvm_ffi_facts(), sys.stdout, indent=2, sort_keys=True)
