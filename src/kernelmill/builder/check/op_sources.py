"""Facts about operators, read from the sources of a binding and of a Python package.

This reads the forms that kernels are written in, not C++: what a macro of the kernel's own hides is
not seen. `kernel-builder check-builds --operators` asks a loaded build instead.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.check.ops import Operator, Registration, schema_name
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_COMMENT: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
_DIRECTIVE: Final = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", re.M)
_BLOCK: Final = re.compile(
    r"\b(?:STABLE_)?TORCH_LIBRARY(?P<form>_IMPL|_FRAGMENT)?(?:_EXPAND)?\s*"
    r"\(\s*(?P<namespace>\w+)\s*,\s*(?:(?P<key>[\w:]+)\s*,\s*)?\w+\s*\)\s*\{"
)
_TEXT: Final = r'"(?:[^"\\\n]|\\.)*"'
_DEF: Final = re.compile(rf"\bdef\s*\(\s*(?P<text>{_TEXT}(?:\s*{_TEXT})*)(?P<rest>[^;]*);")
_IMPL: Final = re.compile(rf"\bimpl\s*\(\s*(?P<text>{_TEXT})\s*,(?P<rest>[^;]*);")
_FUNCTION: Final = re.compile(r"&?\s*(?:\w+::)*(?P<name>\w+)\s*\)*\s*$")
_REFERENCE: Final = re.compile(
    r"(?<!const )(?<!const)\b(?:\w+::)*Tensor\s*&\s*(?P<name>\w+)|"
    r"\bconst\s+(?:\w+::)*Tensor\s*&\s*\w+"
)
_FAKE_KEYS: Final = frozenset({"Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd"})
_FAKE_IN_ARGUMENTS: Final = re.compile(r"\bkMeta\b|DispatchKey::(?:Meta|CompositeImplicitAutograd)")
_FAKE_CALLS: Final = frozenset({"register_fake", "impl_abstract", "_register_fake"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSources:
    """What was read."""

    operators: tuple[Operator, ...]
    blocks: tuple[Registration, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    path: str
    line: int
    namespace: str
    key: str
    body: str


def read_operators(cxx: Mapping[str, str], python: Mapping[str, bytes]) -> OperatorSources:
    """Return the operators that sources define.

    Args:
        cxx: path -> text of each C++, CUDA or HIP source.
        python: path -> content of each Python file.
    """
    texts = {path: _without_comments(text) for path, text in cxx.items()}
    blocks = [block for path, text in sorted(texts.items()) for block in _blocks(path, text)]
    fakes = {*_fakes_in_cxx(blocks), *_fakes_in_python(python)}
    functions = dict(_functions(blocks))
    code = "\n".join(texts.values())
    return OperatorSources(
        operators=tuple(
            Operator(
                name=name,
                schema=schema,
                has_fake=name in fakes,
                where=where,
                written=_written(functions.get(name, inline), code),
            )
            for name, schema, inline, where in _definitions(blocks)
        ),
        blocks=tuple(
            Registration(namespace=it.namespace, where=f"{it.path}:{it.line}") for it in blocks
        ),
    )


def _without_comments(text: str) -> str:
    """Return C++ with comments and macro definitions blanked, every line where it was."""

    def blank(match: re.Match[str]) -> str:
        held = match[0]
        return held if held.startswith('"') else re.sub(r"[^\n]", " ", held)

    without = _COMMENT.sub(blank, text)
    return _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), without)


def _blocks(path: str, text: str) -> Iterator[_Block]:
    for match in _BLOCK.finditer(text):
        yield _Block(
            path=path,
            line=text.count("\n", 0, match.start()) + 1,
            namespace=match["namespace"],
            key=(match["key"] or "").rpartition("::")[2],
            body=_braced(text, match.end()),
        )


def _braced(text: str, start: int) -> str:
    """Return what is between the brace before ``start`` and the one that closes it."""
    depth = 1
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return text[start:index]
    return text[start:]


def _definitions(blocks: list[_Block]) -> Iterator[tuple[str, str, str, str]]:
    """Yield (name, schema or nothing, C++ function or nothing, place)."""
    for block in blocks:
        for match in _DEF.finditer(block.body):
            text = _joined(match["text"])
            line = block.line + block.body.count("\n", 0, match.start())
            schema = text if "->" in text else ""
            inline = _FUNCTION.search(match["rest"].rstrip()) if "&" in match["rest"] else None
            yield (
                schema_name(text),
                schema,
                inline["name"] if inline else "",
                f"{block.path}:{line}",
            )


def _joined(text: str) -> str:
    return "".join(part[1:-1] for part in re.findall(_TEXT, text)).replace('\\"', '"')


def _functions(blocks: list[_Block]) -> Iterator[tuple[str, str]]:
    for block in blocks:
        for match in _IMPL.finditer(block.body):
            if found := _FUNCTION.search(match["rest"].rstrip()):
                yield _joined(match["text"]), found["name"]


def _fakes_in_cxx(blocks: list[_Block]) -> Iterator[str]:
    for block in blocks:
        for match in _IMPL.finditer(block.body):
            if block.key in _FAKE_KEYS or _FAKE_IN_ARGUMENTS.search(match["rest"]):
                yield _joined(match["text"])


def _fakes_in_python(python: Mapping[str, bytes]) -> Iterator[str]:
    for data in python.values():
        try:
            tree = ast.parse(data)
        except (SyntaxError, ValueError):
            continue  # reported by check_imports
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and _called(node.func) in _FAKE_CALLS:
                yield from _names(node.args[0])
            if isinstance(node, ast.Call) and _called(node.func) == "impl":
                yield from _meta_names(node)


def _called(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _meta_names(node: ast.Call) -> Iterator[str]:
    """Yield the operator of ``library.impl("name", function, "Meta")``."""
    words = [it for arg in [*node.args, *(k.value for k in node.keywords)] for it in _names(arg)]
    if _FAKE_KEYS.intersection(words):
        yield from words[:1]


def _names(node: ast.expr) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value.rpartition("::")[2]
        elif isinstance(inner, ast.Attribute) and _called(inner.value) == "ops":
            yield inner.attr  # register_fake(ops.relu)


def _written(function: str, code: str) -> tuple[str, ...]:
    """Return the tensors that a function takes by a reference that is not const."""
    if not function:
        return ()
    match = re.search(rf"\b{re.escape(function)}\s*\(([^()]*)\)\s*(?:noexcept\s*)?\{{", code)
    found = _REFERENCE.finditer(match[1]) if match else ()
    return tuple(it["name"] for it in found if it["name"])
