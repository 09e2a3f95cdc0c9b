"""Jinja templates that come with the package."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from kernelmill.builder.errors import ToolchainError, install_hint

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import jinja2


def read_template(path: str) -> str:
    """Return the text of the file ``templates/PATH``."""
    return _templates().joinpath(path).read_text(encoding="utf-8")


def render_template(path: str, values: dict[str, object]) -> str:
    """Fill in the template ``templates/PATH``; an unknown name in it is an error."""
    return _environment().get_template(path).render(values)


def cmake_quote(value: object) -> str:
    """Return ``value`` as one quoted CMake argument."""
    text = str(value).replace("\\", "\\\\")
    for special in '"$;':
        text = text.replace(special, f"\\{special}")
    return f'"{text}"'


def _templates() -> Traversable:
    return resources.files("kernelmill.builder") / "templates"


@cache
def _environment() -> jinja2.Environment:
    try:
        import jinja2  # noqa: PLC0415 - belongs to an extra: `--help` must work without it
    except ImportError as error:
        raise ToolchainError("jinja2 is not installed", hint=install_hint("builder")) from error
    # Nothing here is HTML: escaping would damage C++ and CMake.
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read_template),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["quote"] = cmake_quote
    return environment
