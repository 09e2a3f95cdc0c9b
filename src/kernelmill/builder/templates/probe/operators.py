"""Load the variant folder of a kernel and print the operators that it registers, as JSON.

usage: operators.py FOLDER ID
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys

import torch
from torch._library.simple_registry import singleton  # the fakes of torch.library

FAKE_KEYS = ("Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd")


def load(folder: pathlib.Path, name: str) -> None:
    """Import the package under its unique name, as the runtime does."""
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"no package in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def has_fake(name: str) -> bool:
    """Say whether torch.compile can trace an operator."""
    if any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in FAKE_KEYS):
        return True
    return singleton.find(name).fake_impl.kernel is not None


def main() -> None:
    """Print the operators of one kernel."""
    folder, namespace = sys.argv[1:]
    load(pathlib.Path(folder), namespace)
    found = [it for it in torch._C._jit_get_all_schemas() if it.name.startswith(f"{namespace}::")]
    operators = [
        {
            "name": it.name.partition("::")[2]
            + (f".{it.overload_name}" if it.overload_name else ""),
            "schema": str(it),
            "has_fake": has_fake(it.name),
        }
        for it in found
    ]
    sys.stdout.write(json.dumps(operators) + "\n")


if __name__ == "__main__":
    main()
