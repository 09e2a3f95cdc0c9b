"""The files a generated project carries, so that plain CMake can cross-compile its HIP code."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

from kernelmill.builder.hip.stub import (
    read_stub_symbols,
    render_stub_source,
    render_version_script,
)

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FOLDER: Final = "cmake"
"""Where in the generated project all of it is."""
_OWN_MODULES: Final = "from kernelmill.builder.hipify."
"""How the translator's modules import each other; in a project they are a program by themselves."""


def recipe_files() -> dict[str, str]:
    """Return path in the project -> content. The same on every machine."""
    package = files("kernelmill.builder.hip")
    recipe = _texts(package.joinpath("recipe"), FOLDER, endings=(".cmake", ".py"))
    headers = {
        **_texts(package.joinpath("include"), f"{FOLDER}/hip-include", endings=(".h",)),
        **_texts(package.joinpath("torch"), f"{FOLDER}/hip-torch", endings=(".h",)),
    }
    translator = _texts(files("kernelmill.builder.hipify"), f"{FOLDER}/hipify", endings=(".py",))
    symbols = read_stub_symbols()
    return {
        **recipe,
        **headers,
        **{path: text.replace(_OWN_MODULES, "from ") for path, text in translator.items()},
        f"{FOLDER}/hip_stub.cpp": render_stub_source(symbols),
        f"{FOLDER}/hip_stub.map": render_version_script(symbols),
    }


def header_names() -> tuple[str, ...]:
    """Return the HIP headers that there are, as a source includes them."""
    package = files("kernelmill.builder.hip")
    headers = _texts(package.joinpath("include"), "", endings=(".h",))
    return tuple(name for name in headers if "/detail/" not in name)


def _texts(folder: Traversable, prefix: str, *, endings: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = f"{prefix}/{item.name}".lstrip("/")
        if item.name == "__pycache__":
            continue
        if item.is_dir():
            found |= _texts(item, path, endings=endings)
        elif item.name.endswith(endings):
            found[path] = item.read_text("utf-8")
    return found
