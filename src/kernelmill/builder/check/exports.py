"""What the libraries of a PyTorch offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.binary import elf
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path


def read_exports(folder: Path) -> frozenset[str]:
    """Return every symbol that the libraries in ``folder`` define.

    Raises:
        SourceError: there are no libraries.
    """
    names: set[str] = set()
    for path in sorted(folder.glob("lib*.so")):
        data = path.read_bytes()
        if elf.is_elf(data):
            linkage = read_linkage(elf.parse(data, where=path.name))
            names.update(it.name for it in linkage.defined)
    if not names:
        raise SourceError(
            "no libraries here", where=str(folder), hint="name the folder lib of a PyTorch"
        )
    return frozenset(names)
