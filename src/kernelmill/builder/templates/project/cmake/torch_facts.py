"""Print what a build needs to know about a torch, as JSON, without importing it."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import sys
import sysconfig


def torch_facts(folder: str = "") -> dict[str, object]:
    """Return the facts, or a reason why there are none.

    ``folder`` is that of a torch package, as an SDK has it; empty for the installed torch.
    """
    if folder:
        root = pathlib.Path(folder)
        if not (root / "version.py").is_file():
            return {"error": "no torch in " + folder}
    else:
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.origin is None:
            return {"error": "torch is not installed for " + sys.executable}
        root = pathlib.Path(spec.origin).parent
    text = (root / "version.py").read_text(encoding="utf-8")

    def read(name: str) -> str:
        found = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
        return found.group(1) if found else ""

    c10 = root / "lib" / "libc10.so"
    return {
        "version": read("__version__"),
        "cuda": read("cuda"),
        "hip": read("hip"),
        # The new string type is part of the names that libc10 exports, or is not.
        "cxx11_abi": c10.exists() and b"__cxx1112basic_string" in c10.read_bytes(),
        "include": [
            str(root / "include"),
            str(root / "include" / "torch" / "csrc" / "api" / "include"),
        ],
        "lib": str(root / "lib"),
        "python": sys.executable,
        "python_include": sysconfig.get_paths()["include"],
    }


if __name__ == "__main__":
    json.dump(torch_facts("".join(sys.argv[1:])), sys.stdout, indent=2, sort_keys=True)
