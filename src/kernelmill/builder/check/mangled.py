"""What the mangled name of a C++ symbol says, without a demangler.

Format: https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling.
"""

from __future__ import annotations

import re
from typing import Final

_ENTITY: Final = re.compile(r"_Z(?:T[VIST]|GV|GR|T[hv]n?\d+_(?:n?\d+_)?)?N[KVRO]*")
_LENGTH: Final = re.compile(r"[1-9]\d*")
_OLD_STRING: Final = "Ss"
"""The standard's abbreviation for ``std::string`` as it was before C++11."""
_NEW_STRING: Final = "7__cxx11"


def namespaces(name: str) -> tuple[str, ...]:
    """Return the enclosing names of a symbol: ``(c10, Error)`` for a constructor of it.

    Empty for C symbols, for those of the global namespace and for those of ``std``.
    """
    match = _ENTITY.match(name)
    found = []
    position = match.end() if match else len(name)
    while length := _LENGTH.match(name, position):
        end = length.end() + int(length[0])
        found.append(name[length.end() : end])
        position = end
    return tuple(found)


def strip_identifiers(name: str) -> str:
    """Return a mangled name without its identifiers: only what the mangling itself says is left."""
    kept, position = [], 0
    while match := _LENGTH.search(name, position):
        kept.append(name[position : match.start()])
        position = match.end() + int(match[0])
    return "".join([*kept, name[position:]])


def old_string(name: str) -> bool:
    """Say whether a mangled name has a ``std::string`` of the old ABI in it."""
    return name.startswith("_Z") and _OLD_STRING in strip_identifiers(name)


def new_string(name: str) -> bool:
    """Say whether a mangled name has a ``std::string`` of C++11's ABI in it."""
    return name.startswith("_Z") and _NEW_STRING in name
