"""Translate one source at a time with torch's own tables."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelmill.builder.hipify.names import ADDED

if TYPE_CHECKING:
    from types import ModuleType

_PACKAGE: Final = "kernelmill_torch_hipify"
_ADDED: Final = re.compile(
    r"(?<![\w./])(?:" + "|".join(map(re.escape, sorted(ADDED, reverse=True))) + r")(?![\w./])"
)
_RUNTIME: Final = "#include <hip/hip_runtime.h>\n"


class NoHipifyError(Exception):
    """The torch that is built against does not bring its translator."""


def find_hipify(torch_include: str = "") -> Path:
    """Return the folder of ``torch.utils.hipify``: of the torch whose headers these are, else here.

    Raises:
        NoHipifyError: there is none.
    """
    folders = [Path(torch_include).parent] if torch_include else []
    spec = importlib.util.find_spec("torch")
    if spec is not None and spec.origin:
        folders.append(Path(spec.origin).parent)
    for folder in folders:
        if (folder / "utils/hipify/hipify_python.py").is_file():
            return folder / "utils/hipify"
    raise NoHipifyError(f"no torch.utils.hipify in {' or '.join(map(str, folders)) or 'any torch'}")


def read_version(folder: Path) -> str:
    """Return the version of the ``torch.utils.hipify`` in ``folder``."""
    path = folder / "version.py"
    match = re.search(r"['\"]([^'\"]+)['\"]", path.read_text("utf-8")) if path.is_file() else None
    return match[1] if match else "1"


class Translator:
    """``torch.utils.hipify``, without the rest of torch."""

    def __init__(self, folder: Path) -> None:
        self._module = _load(folder)
        found: dict[str, Any] = getattr(self._module, "PYTORCH_MAP", {})
        self.names = {name: str(value) for name, value in found.items()}
        """CUDA's names and headers -> HIP's, as torch's tables have them."""

    def translate(self, text: str, *, suffix: str) -> str:
        """Return the HIP that does what ``text`` does; as many lines as before."""
        # NOTE: torch's translator needs something in front of a name, and may add an include line.
        translated = self._run(f"\n{text}", suffix)
        return _ADDED.sub(lambda match: ADDED[match[0]], translated.partition("\n")[2])

    def renamed(self, before: str, after: str) -> dict[str, str]:
        """Return old name -> new name of what a translation replaced."""
        gone = set(_words(before)) - set(_words(after))
        names = {**self.names, **ADDED}
        return {word: names[word] for word in sorted(gone) if word in names}

    def _run(self, text: str, suffix: str) -> str:
        # Alone in a folder: it would change the includes of files that it translates too.
        with tempfile.TemporaryDirectory() as name:
            source = Path(os.path.realpath(name)) / f"source{suffix}"
            source.write_bytes(text.encode("utf-8", "surrogateescape"))
            with (
                contextlib.redirect_stderr(io.StringIO()),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                results = self._module.hipify(
                    project_directory=str(source.parent),
                    output_directory=str(source.parent),
                    extensions=(suffix,),
                    show_progress=False,
                    hip_clang_launch=True,
                    is_pytorch_extension=True,
                )
            result = Path(results[str(source)].hipified_path or source)
            return _without_additions(result.read_bytes().decode("utf-8", "surrogateescape"))


def _load(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        _PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise NoHipifyError(f"{folder} is no Python package")
    package = importlib.util.module_from_spec(spec)
    sys.modules[_PACKAGE] = package
    spec.loader.exec_module(package)
    return importlib.import_module(f"{_PACKAGE}.hipify_python")


def _without_additions(text: str) -> str:
    """Return the text without the lines that were put in front of the first, empty one."""
    while text and not text.startswith("\n"):
        text = text.partition("\n")[2]
    return text


def _words(text: str) -> list[str]:
    return re.findall(r"[\w./]+", text)


def frame(path: str, text: str) -> str:
    """Return ``text`` so that a compiler's messages name ``path`` and the lines of the original."""
    # nvcc includes the runtime's header by itself.
    runtime = _RUNTIME if path.endswith((".cu", ".cuh")) else ""
    return f'{runtime}#line 1 "{path}"\n{text}'
