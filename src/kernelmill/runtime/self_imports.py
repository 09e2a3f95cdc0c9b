"""A kernel that imports itself by its own name would get whatever package has that name here.

Its module is registered under its id, so ``import toy`` in the kernel ``toy`` can only mean another
package. Such a statement raises an ``ImportError`` where it runs: a fallback still works.
"""

from __future__ import annotations

import ast
import logging
import re
import sys

log = logging.getLogger(__name__)


def refuse_self_imports(source: bytes, package: str, path: str) -> bytes | ast.Module:
    """Return ``source``, changed where it imports ``package`` by an absolute name.

    Modules of Python's own are nobody's decoy: a kernel called ``json`` may import them.
    """
    if not package or package in sys.stdlib_module_names or not _may_import(source, package):
        return source
    tree = ast.parse(source, path)
    refusal = _Refusal(package)
    refusal.visit(tree)
    for line in refusal.lines:
        log.warning("%s:%d: %s", path, line, refusal.message)
    return tree if refusal.lines else source


def _may_import(source: bytes, package: str) -> bool:
    """Tell quickly whether there is something to look for."""
    statement = rb"\b(?:import|from)\b(?:[^#\n]|(?<=\\)\n)*\b%b\b" % package.encode()
    return re.search(statement, source) is not None


class _Refusal(ast.NodeTransformer):
    def __init__(self, package: str) -> None:
        self._package = package
        self.lines: list[int] = []
        self.message = (
            f"kernel '{package}' imports itself as '{package}', which is another package here: "
            "its author has to use relative imports"
        )

    def visit_Import(self, node: ast.Import) -> ast.stmt:
        return self._judge(node, *(each.name for each in node.names))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        return node if node.level else self._judge(node, node.module or "")

    def _judge(self, node: ast.stmt, *names: str) -> ast.stmt:
        if self._package not in {name.partition(".")[0] for name in names}:
            return node
        self.lines.append(node.lineno)
        refusal = ast.parse(f"raise ImportError({self.message!r})").body[0]
        for each in ast.walk(refusal):
            ast.copy_location(each, node)
        return refusal
