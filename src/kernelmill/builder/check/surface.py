"""The API of a kernel's Python package: its public names and how they are called.

Read from the source, which is not executed. A user of version 1 gets whatever build is newest in
version 1, so a build that joins it has to answer the same calls (L14).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kernelmill.builder.check import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Kind = Literal["positional-only", "positional", "variadic", "keyword-only", "keywords"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: Kind
    is_optional: bool

    def __str__(self) -> str:
        prefix = {"variadic": "*", "keywords": "**"}.get(self.kind, "")
        is_plain = not prefix and self.is_optional
        return f"{prefix}{self.name}{'=...' if is_plain else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One public name; ``parameters`` is None for what is not known to be a function."""

    name: str
    """Dotted: ``layers.Linear.forward``."""
    parameters: tuple[Parameter, ...] | None

    def __str__(self) -> str:
        if self.parameters is None:
            return self.name
        words: list[str] = []
        for it in self.parameters:
            if it.kind == "keyword-only" and not any(word.startswith("*") for word in words):
                words.append("*")
            words.append(str(it))
        return f"{self.name}({', '.join(words)})"


def read_surface(files: Mapping[str, bytes]) -> tuple[Entry, ...]:
    """Return the public API of a package, sorted.

    Args:
        files: path relative to the package, with ``/`` -> content. What is not valid Python, or
            is not there, offers nothing; `check_imports` reports the former.
    """
    trees = {path: tree for path, data in files.items() if (tree := _parse(data)) is not None}
    package = _Package(trees=trees)
    found = dict.fromkeys(package.public("__init__.py", ""))
    if "layers.py" in trees:
        found |= dict.fromkeys(package.public("layers.py", "layers."))
    return tuple(sorted(found, key=lambda entry: entry.name))


def check_surface(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> tuple[Finding, ...]:
    """Find calls that ``old`` answered and ``new`` does not: a diff, one finding for each name."""
    offered = {entry.name: entry for entry in new}
    findings = []
    for entry in old:
        now = offered.get(entry.name)
        if now is None:
            problem = f"- {entry}"
        elif reason := _first_break(entry.parameters, now.parameters):
            problem = f"- {entry}\n    + {now}  ({reason})"
        else:
            continue
        hint = "keep the old call working, or raise the version in build.toml"
        findings.append(Finding(problem=problem, hint=hint))
    return tuple(findings)


def _first_break(
    old: tuple[Parameter, ...] | None, new: tuple[Parameter, ...] | None
) -> str | None:
    """Return why a call of ``old`` may fail with ``new``, or mean something else."""
    if old is None or new is None:
        return None
    takes_any_keyword = any(it.kind == "keywords" for it in new)
    present = {it.name: it for it in new}
    for it in old:
        held = present.get(it.name)
        if held is None and not (takes_any_keyword and it.kind == "keyword-only"):
            return f"{it} is gone"
        if held and it.is_optional and not held.is_optional:
            return f"{it.name} has to be given now"
        if held and held.kind != it.kind and not _is_wider(it.kind, held.kind):
            return f"{it.name} was {it.kind}, and is {held.kind}"
    for before, after in zip(_positions(old), _positions(new), strict=False):
        if before != after:
            return f"{after} stands where {before} stood"
    names = {it.name for it in old}
    added = next((it for it in new if it.name not in names and not it.is_optional), None)
    return f"{added.name} is new, and has to be given" if added else None


def _is_wider(old: Kind, new: Kind) -> bool:
    return new == "positional" and old in {"positional-only", "keyword-only"}


def _positions(parameters: tuple[Parameter, ...]) -> list[str]:
    return [it.name for it in parameters if it.kind in {"positional-only", "positional"}]


def _parse(data: bytes) -> ast.Module | None:
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Package:
    """The modules of a package, to follow relative imports through."""

    trees: Mapping[str, ast.Module]

    def public(self, path: str, prefix: str) -> Iterator[Entry]:
        tree = self.trees.get(path)
        if tree is None:
            return
        listed = _listed(tree)
        for name in listed if listed is not None else _public_names(tree):
            yield from self.entries(path, name, prefix, depth=0)

    def entries(self, path: str, name: str, prefix: str, *, depth: int) -> Iterator[Entry]:
        """Yield the entry of ``name`` in a module, and those of its methods if it is a class."""
        node = _definition(self.trees[path], name)
        full = f"{prefix}{name}"
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield Entry(name=full, parameters=_parameters(node))
            case ast.ClassDef():
                yield Entry(name=full, parameters=None)
                yield from _methods(node, full)
            case ast.ImportFrom(level=level) if level and depth < len(self.trees):
                source, original = _target(node, name)
                place = _module_path(path, level, source, self.trees)
                if place is None:
                    yield Entry(name=full, parameters=None)
                    return
                for entry in self.entries(place, original, "", depth=depth + 1):
                    renamed = entry.name.replace(original, full, 1)
                    yield Entry(name=renamed, parameters=entry.parameters)
            case _:
                yield Entry(name=full, parameters=None)


def _methods(node: ast.ClassDef, full: str) -> Iterator[Entry]:
    for item in node.body:
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if item.name == "__init__" or not item.name.startswith("_"):
            yield Entry(name=f"{full}.{item.name}", parameters=_parameters(item))


def _listed(tree: ast.Module) -> list[str] | None:
    """Return ``__all__``, where it is a plain list."""
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id="__all__")],
                value=ast.List(elts=values) | ast.Tuple(elts=values),
            ):
                held = [it.value for it in values if isinstance(it, ast.Constant)]
                return [it for it in held if isinstance(it, str)]
            case _:
                continue
    return None


def _public_names(tree: ast.Module) -> list[str]:
    names = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            names += [alias.asname or alias.name for alias in node.names]
    return [name for name in dict.fromkeys(names) if not name.startswith("_") and name != "*"]


def _definition(tree: ast.Module, name: str) -> ast.stmt | None:
    for node in reversed(tree.body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node.name == name:
                return node
            case ast.ImportFrom() if any(name == (a.asname or a.name) for a in node.names):
                return node
            case _:
                continue
    return None


def _target(node: ast.ImportFrom, name: str) -> tuple[str, str]:
    """Return the module and the name in it that an import gives to ``name``."""
    original = next(alias.name for alias in node.names if name == (alias.asname or alias.name))
    return node.module or "", original


def _module_path(path: str, level: int, module: str, trees: Mapping[str, ast.Module]) -> str | None:
    folder = path.split("/")[:-1]
    folder = folder[: len(folder) - (level - 1)]
    base = "/".join([*folder, *filter(None, module.split("."))])
    candidates = (f"{base}.py", f"{base}/__init__.py".lstrip("/"))
    return next((it for it in candidates if it in trees), None)


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Parameter, ...]:
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    required = len(positional) - len(spec.defaults)
    found = [
        Parameter(
            name=arg.arg,
            kind="positional-only" if index < len(spec.posonlyargs) else "positional",
            is_optional=index >= required,
        )
        for index, arg in enumerate(positional)
    ]
    if spec.vararg:
        found.append(Parameter(name=spec.vararg.arg, kind="variadic", is_optional=True))
    found += [
        Parameter(name=arg.arg, kind="keyword-only", is_optional=default is not None)
        for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    ]
    if spec.kwarg:
        found.append(Parameter(name=spec.kwarg.arg, kind="keywords", is_optional=True))
    return tuple(found)
