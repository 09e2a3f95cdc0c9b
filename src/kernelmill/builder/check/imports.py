"""Whether a kernel's Python files find each other when the kernel is loaded under its unique id."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def check_imports(files: Mapping[str, bytes], *, package: str) -> tuple[Finding, ...]:
    """Find absolute imports of the kernel's own package.

    A loaded kernel is not in ``sys.modules`` under its package's name, so such an import fails, or
    takes an unrelated package that happens to be installed.

    Args:
        files: path -> content of each Python file, in whatever encoding it declares.
        package: the kernel's Python name.
    """
    return tuple(
        finding
        for path, content in sorted(files.items())
        for finding in _check_file(path, content, package)
    )


def _check_file(path: str, content: bytes, package: str) -> Iterator[Finding]:
    try:
        tree = ast.parse(content)
    except SyntaxError as error:
        yield Finding(problem=f"{path}:{error.lineno or 1}: not valid Python: {error.msg}")
        return
    except ValueError as error:  # null bytes, before Python 3.12
        yield Finding(problem=f"{path}:1: not valid Python: {error}")
        return
    for node in ast.walk(tree):
        for name in _absolute_imports(node):
            if name.partition(".")[0] == package:
                yield Finding(
                    problem=f"{path}:{getattr(node, 'lineno', 0)}: absolute import of {name!r}",
                    hint="a kernel is loaded under another name: use a relative import",
                )


def _absolute_imports(node: ast.AST) -> list[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom(level=0, module=str(module)):
            return [module]
        case _:
            return []
