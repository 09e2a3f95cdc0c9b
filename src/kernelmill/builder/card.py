"""The card of a kernel: a Jinja template that knows what the kernel has."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SourceError, ToolchainError, install_hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelmill.spec.manifest import Manifest

CARD_NAME: Final = "CARD.md"
VARIABLES: Final = (
    "repo_id",
    "version",
    "functions",
    "layers",
    "has_benchmark",
    "upstream",
    "source",
    "license",
)
"""What a card may name."""
_CALCULATED: Final = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(MemoryError, RecursionError),
)
"""What Python says of an expression that has no value."""
_BASES: Final = frozenset({"Module", "nn.Module", "torch.nn.Module"})


def card_values(
    manifest: Manifest,
    *,
    package: str,
    layers: str,
    repo_id: str | None,
    has_benchmark: bool,
) -> dict[str, object]:
    """Return what the variables of a card stand for.

    Args:
        manifest: the kernel's.
        package: the source of its ``__init__.py``, which is read and never run.
        layers: the source of its ``layers.py``; empty when there is none.
        repo_id: where it is published; None for the manifest's choice. When nobody chose, there
            is no such variable.
        has_benchmark: whether it has benchmarks.
    """
    general = manifest.general
    known = repo_id or (general.hub and general.hub.repo_id)
    values: dict[str, object] = {
        "version": general.version,
        "functions": exported_functions(package),
        "layers": layer_classes(layers),
        "has_benchmark": has_benchmark,
        "upstream": general.upstream,
        "source": general.source,
        "license": general.license,
    }
    return values | ({"repo_id": str(known)} if known else {})


def exported_functions(source: str) -> tuple[str, ...]:
    """Return the names in a module's ``__all__`` but ``layers``, in their order."""
    names: list[str] = []
    for target, value in _assignments(source):
        if target == "__all__" and isinstance(value, ast.List | ast.Tuple):
            names += [str(it.value) for it in value.elts if isinstance(it, ast.Constant)]
    return tuple(name for name in dict.fromkeys(names) if name != "layers")


def _statements(source: str) -> list[ast.stmt]:
    """Return what is at the top of a module.

    Raises:
        SourceError: it is no Python.
    """
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise SourceError(
            f"this is no Python: {getattr(error, 'msg', None) or error}{line}",
            hint="correct it: the card lists what the package has",
        ) from error


def _assignments(source: str) -> Iterator[tuple[str, ast.expr]]:
    for statement in _statements(source):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                yield name, value


def layer_classes(source: str) -> tuple[str, ...]:
    """Return the names of a module's public layers, in their order."""
    public = exported_functions(source)
    found = []
    known: set[str] = set()
    for statement in _statements(source):
        if isinstance(statement, ast.ClassDef):
            bases = {ast.unparse(base) for base in statement.bases}
            if bases & (_BASES | known):
                known.add(statement.name)
                found.append(statement.name)
    return tuple(it for it in found if it in public or (not public and not it.startswith("_")))


def fill_card(template: str, values: Mapping[str, object], *, where: str) -> str:
    """Fill in a card.

    Raises:
        SourceError: it names a variable that there is not, or is no template.
        ToolchainError: Jinja is not installed.
    """
    try:
        from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError  # noqa: PLC0415
        from jinja2.sandbox import SandboxedEnvironment  # noqa: PLC0415 - belongs to an extra
    except ImportError as error:
        raise ToolchainError("jinja2 is not installed", hint=install_hint("builder")) from error
    # A card comes with a kernel, which may be somebody else's: it gets values, and runs nothing.
    environment = SandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, trim_blocks=True
    )
    try:
        return environment.from_string(template).render(values)
    except TemplateSyntaxError as error:
        raise SourceError(
            f"this is no template: {error.message}",
            where=f"{where}:{error.lineno}",
            hint="what is in double braces is a variable; {% raw %} keeps text as it is",
        ) from error
    except TemplateError as error:
        hint = f"a card may name {', '.join(VARIABLES)}"
        if "repo_id" not in values and "repo_id" in str(error):
            hint = 'pass --repo-id owner/name, or set repo-id = "owner/name" in [general.hub]'
        raise SourceError(f"cannot be filled in: {error}", where=where, hint=hint) from error
    except _CALCULATED as error:
        raise SourceError(
            f"cannot be filled in: {str(error) or type(error).__name__}",
            where=where,
            hint=f"a card may name {', '.join(VARIABLES)}, and runs nothing",
        ) from error
