"""What a translation left of CUDA: names, headers and assembly that HIP does not have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.hipify.conditions import Macros, compiled_lines
from kernelmill.builder.hipify.includes import INCLUDE
from kernelmill.builder.hipify.names import (
    DEFINED,
    DEFINED_FOR_DEVICE,
    FOREIGN_HEADER,
    FOREIGN_NAME,
    UNDEFINED,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_WORD: Final = re.compile(r"(?<![\w.])(?<!->)[A-Za-z_]\w*")
_COMMENT_OR_TEXT: Final = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)
_PTX: Final = re.compile(
    r'\b(?:asm|__asm__)\b[\s\w]*\(\s*"[^"]*?(?<=[\s{;"])((?:[a-z][a-z0-9]*)(?:\.[a-z0-9]+)+)'
)
_DEVICE_SUFFIXES: Final = (".cu", ".cuh")
# A word before a name makes a declaration of it, unless it is one of these.
_NO_TYPES: Final = r"(?!(?:return|else|throw|case|goto|new|delete|co_return|co_await|typename)\b)"


def find_leftovers(texts: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """Return (path, line, what) for each thing that no ROCm build can compile, in order.

    Each name counts once in a file. What stands in lines that are surely not compiled, or only
    perhaps, is left to the compiler.

    Args:
        texts: path -> translated text of every file of a build.
    """
    found: list[tuple[str, int, str]] = []
    everything = "\n".join(map(strip, texts.values()))
    for path, text in texts.items():
        seen: set[str] = set()
        for line, name in _leftovers(path, text, texts):
            if name not in seen and not _defines(everything, name):
                found.append((path, line, name))
            seen.add(name)
    return found


def strip(text: str) -> str:
    """Return ``text`` with comments and literals blank; lines and columns stay."""
    return _COMMENT_OR_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _leftovers(path: str, text: str, known: Iterable[str]) -> Iterator[tuple[int, str]]:
    device = DEFINED_FOR_DEVICE if path.endswith(_DEVICE_SUFFIXES) else ()
    code = strip(text).split("\n")
    is_compiled = compiled_lines(code, Macros((*DEFINED, *device), UNDEFINED))
    lines = text.split("\n")
    for number, (line, stripped) in enumerate(zip(lines, code, strict=True), start=1):
        if not is_compiled[number - 1] or not stripped.strip():
            continue
        yield from ((number, name) for name in _foreign_in_line(line, stripped, known))
    for match in _PTX.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        if is_compiled[number - 1] and code[number - 1].strip():
            yield number, match[1]


def _foreign_in_line(line: str, stripped: str, known: Iterable[str]) -> Iterator[str]:
    include = INCLUDE.match(line)
    if include:
        header = include[1] or include[2]
        is_own = any(path == header or path.endswith(f"/{header}") for path in known)
        if FOREIGN_HEADER.fullmatch(header) and not is_own:
            yield header
        return
    if stripped.lstrip().startswith("#"):
        return  # a macro is judged where it is used
    for match in _WORD.finditer(stripped):
        if FOREIGN_NAME.fullmatch(match[0]):
            yield match[0]


def _defines(code: str, name: str) -> bool:
    """Return whether some source declares ``name``: it is the author's own then."""
    if not name.isidentifier():
        return False
    patterns = (
        rf"#[ \t]*define[ \t]+{name}\b",
        rf"\b(?:struct|class|enum|union|using|namespace)[ \t]+{name}\b",
        rf"^[ \t]*(?:[\w:]+[ \t]+)*{_NO_TYPES}\b[A-Za-z_][\w:<>]*[ \t*&]+{name}[ \t]*[(=;,){{\[]",
    )
    return any(re.search(pattern, code, re.MULTILINE) for pattern in patterns)
