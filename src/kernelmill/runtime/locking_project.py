"""What a project loads: the table ``tool.kernels.dependencies`` of its ``pyproject.toml``.

::

    [tool.kernels.dependencies]
    "kernels-community/gemm" = 1                      # the branch v1
    "acme/toy" = { revision = "main" }                # a branch, a tag or a commit; ours alone
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.errors import InputError
from kernelmill.spec.names import RepoId
from kernelmill.spec.reader import Faults, Place, Table, natural, table, text
from kernelmill.spec.toml_lines import key_lines

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "pyproject.toml"
_TABLE: Final = "tool.kernels.dependencies"
_EXAMPLE: Final = f'write [{_TABLE}] with a line such as "kernels-community/gemm" = 1'


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The part of a ``pyproject.toml`` that matters here."""

    name: str | None = None
    version: str | None = None
    """None when another tool computes it."""
    dependencies: tuple[KernelDependency, ...] | None = None
    """None when there is no such table."""


def read_project(folder: Path) -> Project:
    """Read the ``pyproject.toml`` in ``folder``.

    Raises:
        InputError: there is none, or it cannot be used; says where the first mistake is.
    """
    path = folder / FILE_NAME
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        problem = f"there is no {FILE_NAME}"
        raise InputError(problem, where=str(folder), hint=f"make one: {_EXAMPLE}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path)) from error
    return parse_project(content, where=str(path))


def parse_project(content: str, *, where: str = FILE_NAME) -> Project:
    """Read the text of a ``pyproject.toml``.

    Raises:
        InputError: it cannot be used; says where the first mistake is.
    """
    try:
        document, lines = tomllib.loads(content), key_lines(content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"not valid TOML: {error}", where=where, hint="see https://toml.io for syntax"
        ) from error
    faults = Faults(file=where, lines=lines)
    root = Table(document, Place(path=(), faults=faults))
    project = _read(root)
    if faults.found:
        raise faults.found[0]
    return project


def require_dependencies(project: Project, *, where: str) -> tuple[KernelDependency, ...]:
    """Return what the project loads.

    Raises:
        InputError: it does not say.
    """
    if project.dependencies is None:
        raise InputError(f"there is no table [{_TABLE}]", where=where, hint=_EXAMPLE)
    return project.dependencies


def _read(root: Table) -> Project:
    project = root.table("project")
    tool = root.table("tool")
    ours = tool.table("kernels") if tool else None
    dependencies = ours.table("dependencies") if ours else None
    return Project(
        name=project.optional("name", text, default=None) if project else None,
        version=project.optional("version", text, default=None) if project else None,
        dependencies=None if dependencies is None else _dependencies(dependencies),
    )


def _dependencies(entries: Table) -> tuple[KernelDependency, ...]:
    found = (entries.required(name, _dependency, stand_in=None) for name in sorted(entries))
    return tuple(it for it in found if it is not None)


def _dependency(value: object, place: Place) -> KernelDependency | None:
    repo = RepoId.parse(str(place.path[-1]), where=str(place))
    match value:
        case dict():
            return _pinned(table(value, place), repo)
        case str():
            hint = f'write the version, = 1, or = {{ revision = "{value}" }}'
            raise place.fail(f"{value!r} is no version", hint)
        case _:
            return KernelDependency(repo_id=repo, version=natural(value, place))


def _pinned(item: Table, repo: RepoId) -> KernelDependency:
    version = item.optional("version", natural, default=None)
    revision = item.optional("revision", text, default=None)
    item.reject_unknown()
    if ("version" in item) == ("revision" in item):
        raise item.place.fail("give either a version or a revision", "write { version = 1 }")
    return KernelDependency(repo_id=repo, version=version, revision=revision)
